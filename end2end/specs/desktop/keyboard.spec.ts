import type { Page } from '@playwright/test'
import { expect, test } from '../../fixtures/test'

test('with the keyboard alone one finds a show, picks, unpicks, holds and pays (B6)', async ({
  cinema, other, whatsOn, seatMap, payment, order, page,
}) => {
  const show = await cinema.show()
  await other.buys(show, [3])
  await whatsOn.open()
  await page.keyboard.press('Tab')
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused()
  await page.keyboard.press('Enter')
  await tabTo(page, 'nav[aria-label=Days] a:nth-child(2)')
  await expect(async () => {
    await page.keyboard.press('Enter')
    await expect(whatsOn.film(show.title)).toBeVisible({ timeout: 200 })
  }).toPass({ intervals: [500] })
  await tabTo(page, `a[href="${show.path}"]`)
  await expectFocusRing(page)
  await page.keyboard.press('Enter')

  await seatMap.live()
  await tabTo(page, '.map input')
  await expect(seatMap.seat(1)).toBeFocused()
  await expectFocusRing(page)
  await page.keyboard.press('ArrowRight')
  await expect(seatMap.seat(2)).toBeFocused()
  await page.keyboard.press('Space')
  await expect(seatMap.seat(2)).toBeChecked()
  // A sold seat can be visited and heard, but not picked.
  await page.keyboard.press('ArrowRight')
  await expect(seatMap.seat(3)).toBeFocused()
  await expect(seatMap.seat(3)).toHaveAccessibleName('Row A, seat 3, standard, EUR 10.50, sold')
  await page.keyboard.press('Space')
  await page.keyboard.press('Enter')
  await expect(seatMap.seat(3)).not.toBeChecked()
  // Over the aisle, down, to the row's ends, to the hall's ends.
  for (const [key, no] of [
    ['ArrowRight', 4], ['ArrowDown', 10], ['Home', 7], ['End', 12], ['ArrowDown', 18], ['ArrowUp', 12], ['ArrowLeft', 11],
    ['Control+End', 24], ['ArrowRight', 24], ['ArrowDown', 24], ['Control+Home', 1], ['ArrowLeft', 1], ['ArrowUp', 1],
  ] as const) {
    await page.keyboard.press(key)
    await expect(seatMap.seat(no), key).toBeFocused()
  }
  // Enter acts on the seat and does not send the form.
  await page.keyboard.press('Enter')
  await expect(seatMap.seat(1)).toBeChecked()
  await page.keyboard.press('Enter')
  await expect(seatMap.seat(1)).not.toBeChecked()
  await page.keyboard.press('Enter')
  await expect(seatMap.picks()).toHaveText('A1, A2')

  await page.keyboard.press('Tab')
  await expect(seatMap.holdButton()).toBeFocused()
  await page.keyboard.press('Shift+Tab')
  await expect(seatMap.seat(1)).toBeFocused()
  await page.keyboard.press('Tab')
  await expectFocusRing(page)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/pay$/)
  const held = page.url().split('/').at(-2)!

  await tabTo(page, '#card')
  await page.keyboard.type('4242 4242 4242 4242')
  await page.keyboard.press('Tab')
  await expect(page.getByLabel('Mail the tickets to')).toBeFocused()
  await page.keyboard.press('Tab')
  await expect(payment.payButton()).toBeFocused()
  await expectFocusRing(page)
  await page.keyboard.press('Space')
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.tickets(held)).toEqual([1, 2])
})

test('the grid is one tab stop, and every seat says row, number, zone, price and state (B6)', async ({ cinema, other, seatMap, page }) => {
  const plan = `zone s Standard
zone p Premium
mark W s wheelchair
mark C s companion
row A | WC.sss
row B | ppp.ppp`
  const show = await cinema.show({ plan })
  await other.holds(show, [6])
  await seatMap.openLive(show)
  const names = await seatMap.seats().evaluateAll((seats) => seats.map((seat) => seat.getAttribute('aria-label')))
  expect(names).toHaveLength(11)
  for (const name of names) {
    expect(name).toMatch(/^Row [AB], seat \d, (standard|premium)(, (wheelchair place|companion (place|seat)))?, EUR 1[03]\.[05]0, (available|held, free again by \d\d:\d\d unless bought)$/)
  }
  expect(names[0]).toContain('wheelchair')
  expect(names[1]).toContain('companion')
  expect(names[5]).toContain('held')
  await expect(page.locator('.map input[tabindex="0"]')).toHaveCount(1)
  await expect(page.getByRole('grid')).toHaveAccessibleName(/seat map/i)
  await expect(page.getByRole('rowheader')).toHaveText(['A', 'B'])
})

test('Page Up and Page Down step over rows, and stop at the first and the last', async ({ cinema, seatMap, page }) => {
  const rows = Array.from({ length: 12 }, (_, row) => `row ${row + 1} | ${row === 6 ? 's.....' : 'ssssss'}`)
  await seatMap.openLive(await cinema.show({ plan: ['zone s Standard', ...rows].join('\n') }))
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label')?.split(',').slice(0, 2).join(','))
  await seatMap.seat(4).focus()
  const steps = [['PageDown', 6], ['PageDown', 11], ['PageDown', 12], ['PageUp', 7], ['PageUp', 2], ['PageUp', 1]] as const
  for (const [key, row] of steps) {
    await page.keyboard.press(key)
    expect(await focused()).toContain(`Row ${row},`)
  }
  // The seventh row is short: its only seat is the nearest, and from there the column is the new one.
  expect(await focused()).toBe('Row 1, seat 1')
})

/** Presses Tab until the focus is on something that matches. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < 120; presses += 1) {
    await page.keyboard.press('Tab')
    if (await page.evaluate((selector) => document.activeElement?.matches(selector), selector)) return
  }
  throw new Error(`Tab does not reach ${selector}`)
}

/** What has the focus shows it: an outline of two pixels or more, of another colour than what lies around it. */
async function expectFocusRing(page: Page): Promise<void> {
  const ring = await page.evaluate(() => {
    const style = getComputedStyle(document.activeElement!)
    const around = getComputedStyle(document.activeElement!.closest('.map-viewport, .picks, .panel, body')!)
    return { line: style.outlineStyle, width: parseFloat(style.outlineWidth), color: style.outlineColor, around: around.backgroundColor }
  })
  expect(ring.line).not.toBe('none')
  expect(ring.width).toBeGreaterThanOrEqual(2)
  expect(ring.color).not.toBe(ring.around)
}
