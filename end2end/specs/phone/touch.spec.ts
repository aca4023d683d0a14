import type { Page } from '@playwright/test'
import { expect, test } from '../../fixtures/test'

/** Wider and longer than any phone. */
const WIDE = ['zone s Standard', ...Array.from({ length: 20 }, (_, row) => `row ${row + 1} | ${'s'.repeat(15)}.${'s'.repeat(15)}`)].join('\n')

async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  expect(over, `${page.url()} scrolls sideways`).toBeLessThanOrEqual(0)
}

test('a finger meets seats and buttons of 44 pixels', async ({ cinema, seatMap, payment, page }) => {
  await seatMap.openLive(await cinema.show({ plan: WIDE }))
  const smallest = async (selector: string) => {
    const sizes = await page.locator(selector).filter({ visible: true }).evaluateAll((targets) =>
      targets.map((target) => target.getBoundingClientRect()).map(({ width, height }) => Math.min(width, height)),
    )
    expect(sizes.length).toBeGreaterThan(0)
    return Math.min(...sizes)
  }
  expect(await smallest('.map input')).toBeGreaterThanOrEqual(44)
  expect(await smallest('button')).toBeGreaterThanOrEqual(44)
  await seatMap.pick(1)
  await seatMap.hold()
  expect(await smallest('button, .button, input:not([type=hidden])')).toBeGreaterThanOrEqual(44)
  await expectNoSidewaysScroll(page)
  await expect(payment.payButton()).toBeEnabled()
})

test('the whole hall fits the screen, and a tap leads to that part of it', async ({ cinema, seatMap, page, checked }, info) => {
  await seatMap.openLive(await cinema.show({ plan: WIDE }))
  await expectNoSidewaysScroll(page)
  const viewport = page.locator('.map-viewport')
  const hiddenWidth = () => viewport.evaluate((viewport) => viewport.scrollWidth - viewport.clientWidth)
  expect(await hiddenWidth(), 'at first the hall is wider than the screen').toBeGreaterThan(100)

  await seatMap.wholeHall().tap()
  await expect(seatMap.wholeHall()).toHaveAttribute('aria-pressed', 'true')
  expect(await hiddenWidth(), 'the whole hall is seen at once').toBeLessThanOrEqual(1)
  await info.attach('whole hall', { body: await page.screenshot(), contentType: 'image/png' })
  await checked(page)

  const far = seatMap.seat(12 * 30)
  await far.scrollIntoViewIfNeeded()
  const box = (await far.boundingBox())!
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2)
  await expect(seatMap.wholeHall()).toHaveAttribute('aria-pressed', 'false')
  expect(await seatMap.picked(), 'the tap did not pick').toEqual([])
  await expect(far).toBeInViewport()
  await info.attach('that part', { body: await page.screenshot(), contentType: 'image/png' })
  await far.tap()
  expect(await seatMap.picked()).toEqual([12 * 30])
})

test('zooming keeps the middle of what is seen in the middle', async ({ cinema, seatMap, page }) => {
  await seatMap.openLive(await cinema.show({ plan: WIDE }))
  const viewport = page.locator('.map-viewport')
  const middle = () => viewport.evaluate((viewport) => (viewport.scrollLeft + viewport.clientWidth / 2) / viewport.scrollWidth)
  const before = (await seatMap.seat(1).boundingBox())!.width
  await viewport.evaluate((viewport) => (viewport.scrollLeft = viewport.scrollWidth * 0.3))
  const where = await middle()
  await page.getByRole('button', { name: 'Zoom in' }).tap()
  expect((await seatMap.seat(1).boundingBox())!.width).toBeGreaterThan(before * 1.2)
  expect(Math.abs((await middle()) - where)).toBeLessThan(0.03)
  await page.getByRole('button', { name: 'Zoom out' }).tap()
  expect((await seatMap.seat(1).boundingBox())!.width).toBeCloseTo(before, 0)
})

test('no page scrolls sideways on a phone', async ({ cinema, whatsOn, seatMap, payment, order, myOrders, page }, info) => {
  const look = async (name: string) => {
    await expectNoSidewaysScroll(page)
    await info.attach(name, { body: await page.screenshot({ fullPage: true }), contentType: 'image/png' })
  }
  await whatsOn.open()
  await look('what’s on')
  await seatMap.openLive(await cinema.show({ plan: WIDE }))
  await look('seat map')
  await seatMap.pick(15, 16)
  await expect(seatMap.holdButton()).toBeInViewport()
  await seatMap.hold()
  await look('payment')
  await payment.pay()
  await expect(order.tickets()).toHaveCount(2)
  await look('tickets')
  await myOrders.open()
  await look('my tickets')
})

test('a phone on its side shows seats on the first screen', async ({ cinema, seatMap, page }) => {
  await page.setViewportSize({ width: 780, height: 360 })
  await seatMap.openLive(await cinema.show({ plan: WIDE }))
  const seat = await seatMap.seat(15).boundingBox()
  const bar = await page.locator('.picks').boundingBox()
  expect(seat!.y + seat!.height).toBeLessThanOrEqual(bar!.y)
  await expectNoSidewaysScroll(page)
})

test('a hall that goes on to the sides says so, and seats stay fit for a finger at every zoom', async ({ cinema, seatMap, page }) => {
  await seatMap.openLive(await cinema.show({ plan: WIDE }))
  await expect(page.getByText('The hall goes on to both sides')).toBeVisible()
  for (let press = 0; press < 4; press += 1) await page.getByRole('button', { name: 'Zoom out' }).click()
  const size = await seatMap.seat(10).boundingBox()
  expect(Math.min(size!.width, size!.height)).toBeGreaterThanOrEqual(44)
  await seatMap.openLive(await cinema.show({ plan: 'zone s Standard\nrow A | sss' }))
  await expect(page.getByText('The hall goes on to both sides')).toBeHidden()
})
