import { expect, test } from '../../fixtures/test'

test('a hall of 3,000 seats loads, lives, and sells its last seat (B5)', async ({ cinema, seatMap, payment, page }, info) => {
  const row = `${'s'.repeat(25)}.${'p'.repeat(25)}`
  const rows = Array.from({ length: 60 }, (_, index) => `row ${index + 1} | ${row}`)
  const show = await cinema.show({ plan: ['zone s Standard', 'zone p Premium', ...rows].join('\n') })
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (!('liveAt' in window) && document.querySelector('[data-live]')) Object.assign(window, { liveAt: performance.now() })
    }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-live'] })
  })
  await seatMap.openLive(show)
  const { firstByte, bytes, live } = await page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    return {
      firstByte: navigation.responseStart - navigation.requestStart,
      bytes: navigation.encodedBodySize,
      live: (window as unknown as { liveAt: number }).liveAt,
    }
  })
  info.annotations.push({
    type: 'measured',
    description: `first byte after ${firstByte.toFixed(0)} ms, ${(bytes / 1024).toFixed(0)} KB of HTML, live after ${live.toFixed(0)} ms`,
  })
  await expect(seatMap.seats()).toHaveCount(3000)
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect(overflow, 'the page itself never scrolls sideways').toBeLessThanOrEqual(0)
  await seatMap.pick(3000, 2999)
  await expect(seatMap.total()).toHaveText('Total EUR 26.00')
  const held = await seatMap.hold()
  await payment.pay()
  expect(await cinema.tickets(held)).toEqual([2999, 3000])
})
