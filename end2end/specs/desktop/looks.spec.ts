import type { Page, TestInfo } from '@playwright/test'
import { expect, test } from '../../fixtures/test'
import type { Cinema, Show } from '../../fixtures/cinema'
import type { Visitor } from '../../fixtures/visitor'
import type { SeatMap } from '../../pages/seat-map'

const PLAN = `zone s Standard
zone p Premium
zone r Recliner
zone b Balcony
mark W s wheelchair
mark C s companion
row A | ssssWC
row B | pppppp
row C | rrrrrr
row D | bbbbbb`

/** Where every state can be seen at once, by seat number. */
const STATES = { free: 1, yours: 2, held: 3, sold: 4, wheelchair: 5, companion: 6, picked: 8, premium: 9, recliner: 13, balcony: 19 }

async function openEveryState(cinema: Cinema, other: Visitor, seatMap: SeatMap): Promise<Show> {
  const show = await cinema.show({ plan: PLAN })
  await other.holds(show, [STATES.held])
  await other.buys(show, [STATES.sold])
  await seatMap.openLive(show)
  await seatMap.pick(STATES.yours)
  await seatMap.hold()
  await seatMap.openLive(show)
  await seatMap.pick(STATES.picked)
  // No hover, no focus: only what is.
  await seatMap.page.mouse.move(0, 0)
  await seatMap.holdButton().focus()
  return show
}

/** How each state is drawn, with every colour left out. */
async function shapes(page: Page): Promise<Record<string, string>> {
  return page.evaluate((states) => {
    const shape = (no: number) => {
      const seat = document.querySelector(`[data-testid=seat-${no}]`)!
      const [chair, mark] = [getComputedStyle(seat, '::before'), getComputedStyle(seat, '::after')]
      const lines = ['top', 'right', 'bottom', 'left'].map((side) => chair.getPropertyValue(`border-${side}-style`) + chair.getPropertyValue(`border-${side}-width`))
      return [
        chair.inset, chair.borderRadius, ...lines, chair.backgroundImage === 'none' ? 'plain' : 'hatched',
        mark.maskImage === 'none' ? 'number' : mark.maskImage.replace(/rgba?\([^)]*\)/g, ''),
      ].join(' ')
    }
    return Object.fromEntries(Object.entries(states).map(([state, no]) => [state, shape(no)]))
  }, STATES)
}

function expectAllDifferent(shapes: Record<string, string>): void {
  const seen = new Map<string, string>()
  for (const [state, shape] of Object.entries(shapes)) {
    expect(seen.get(shape), `${state} looks like ${seen.get(shape)} without colour`).toBeUndefined()
    seen.set(shape, state)
  }
}

async function photograph(page: Page, info: TestInfo, name: string): Promise<void> {
  await info.attach(name, { body: await page.screenshot({ fullPage: true }), contentType: 'image/png' })
}

test('states and zones differ by shape, not by colour alone (B7)', async ({ cinema, other, seatMap, page }, info) => {
  await openEveryState(cinema, other, seatMap)
  expectAllDifferent(await shapes(page))
  const names = await Promise.all(Object.values(STATES).map((no) => seatMap.name(no)))
  expect(new Set(names.map((name) => name.replace(/^Row ., seat \d, /, ''))).size).toBeGreaterThanOrEqual(8)

  const browser = await page.context().newCDPSession(page)
  for (const type of ['achromatopsia', 'deuteranopia', 'protanopia', 'tritanopia'] as const) {
    await browser.send('Emulation.setEmulatedVisionDeficiency', { type })
    await photograph(page, info, type)
  }
  await browser.send('Emulation.setEmulatedVisionDeficiency', { type: 'none' })
})

test('states differ by shape under forced colours too (B7)', async ({ cinema, other, seatMap, page }, info) => {
  await page.emulateMedia({ forcedColors: 'active' })
  await openEveryState(cinema, other, seatMap)
  expectAllDifferent(await shapes(page))
  await photograph(page, info, 'forced colours')
})

test('by night every page is as readable as by day', async ({ cinema, other, whatsOn, seatMap, payment, order, myOrders, page, checked }, info) => {
  await page.emulateMedia({ colorScheme: 'dark' })
  await whatsOn.open()
  await photograph(page, info, 'what’s on, dark')
  await checked(page)
  await openEveryState(cinema, other, seatMap)
  await photograph(page, info, 'seat map, dark')
  await checked(page)
  await seatMap.hold()
  await photograph(page, info, 'payment, dark')
  await checked(page)
  await payment.pay()
  await expect(order.tickets()).toHaveCount(1)
  await photograph(page, info, 'tickets, dark')
  await checked(page)
  await myOrders.open()
  await photograph(page, info, 'my tickets, dark')
})

test('read from right to left, the pages turn and the hall does not', async ({ cinema, other, whatsOn, seatMap, payment, order, page }, info) => {
  const turn = () => page.evaluate(() => document.documentElement.setAttribute('dir', 'rtl'))
  const expectNoOverflow = async () =>
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), page.url()).toBeLessThanOrEqual(0)
  await whatsOn.open()
  await turn()
  await photograph(page, info, 'what’s on, right to left')
  await expectNoOverflow()
  await openEveryState(cinema, other, seatMap)
  await turn()
  await photograph(page, info, 'seat map, right to left')
  await expectNoOverflow()
  const [left, right] = [await seatMap.seat(7).boundingBox(), await seatMap.seat(12).boundingBox()]
  expect(left!.x).toBeLessThan(right!.x)
  await seatMap.seat(8).focus()
  await page.keyboard.press('ArrowRight')
  await expect(seatMap.seat(9)).toBeFocused()
  await seatMap.hold()
  await turn()
  await photograph(page, info, 'payment, right to left')
  await expectNoOverflow()
  await payment.pay()
  await turn()
  await expect(order.tickets()).toHaveCount(1)
  await photograph(page, info, 'tickets, right to left')
  await expectNoOverflow()
})

test('a pointer meets targets of 24 pixels and more, in the widest hall too', async ({ cinema, seatMap, page }) => {
  const plan = ['zone s Standard', ...Array.from({ length: 6 }, (_, row) => `row ${row + 1} | ${'s'.repeat(60)}`)].join('\n')
  await seatMap.openLive(await cinema.show({ plan }))
  const sizes = await page.locator('.map input').evaluateAll((seats) => seats.map((seat) => seat.getBoundingClientRect()).map(({ width, height }) => Math.min(width, height)))
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(24)
})
