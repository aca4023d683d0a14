import { expect, test } from '../../fixtures/test'
import { PaymentPage } from '../../pages/payment'
import { SeatMap } from '../../pages/seat-map'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Makes the browser's clock differ from the world's by `window.clockError` milliseconds. */
function breakClock(error: number): void {
  const Right = Date
  const broken = window as unknown as { clockError: number }
  broken.clockError = error
  window.Date = class extends Right {
    constructor(...args: []) {
      if (args.length > 0) super(...args)
      else super(Right.now() + broken.clockError)
    }
    static override now(): number {
      return Right.now() + broken.clockError
    }
  } as DateConstructor
}

for (const [clock, error] of [
  ['14 minutes ahead', 14 * MINUTE],
  ['14 minutes behind', -14 * MINUTE],
  ['a day ahead', DAY],
  ['a day behind', -DAY],
] as const) {
  test(`a visitor’s clock that is ${clock} changes nothing (T1)`, async ({ cinema, seatMap, payment, other, page }) => {
    await page.addInitScript(breakClock, error)
    const show = await cinema.show()
    const theirs = await other.holds(show, [2])
    await cinema.age(theirs, 60)
    await seatMap.openLive(show)
    expect(Math.abs((await page.evaluate(() => Date.now())) - (await cinema.now()))).toBeGreaterThan(13 * MINUTE)
    await expect(seatMap.seat(2)).toHaveAccessibleName(/, held, free again by/)
    await seatMap.pick(1)
    const held = await seatMap.hold()
    await expectTrueCountdown(payment, () => cinema.secondsLeft(held))
    await expect(payment.payButton()).toBeEnabled()
  })
}

test('a clock that is changed midway changes nothing (T1)', async ({ cinema, seatMap, payment, page }) => {
  await page.addInitScript(breakClock, 0)
  await seatMap.openLive(await cinema.show())
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await expectTrueCountdown(payment, () => cinema.secondsLeft(held))
  for (const error of [20 * MINUTE, -20 * MINUTE]) {
    await page.evaluate((error) => Object.assign(window, { clockError: error }), error)
    // The next second is counted under the changed clock.
    const before = await payment.countdown().innerText()
    await expect(payment.countdown()).not.toHaveText(before)
    await expectTrueCountdown(payment, () => cinema.secondsLeft(held))
  }
  await expect(payment.payButton()).toBeEnabled()
})

test('a laptop that slept for five minutes learns what is left when it wakes (T1)', async ({ cinema, seatMap, payment, page }) => {
  await seatMap.openLive(await cinema.show())
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await expectTrueCountdown(payment, () => cinema.secondsLeft(held))
  // Alive: before, nobody hears that it wakes.
  const shown = await payment.countdown().innerText()
  await expect(payment.countdown()).not.toHaveText(shown)
  // The page's own clock stood still meanwhile.
  await cinema.age(held, 300)
  await page.evaluate(() => window.dispatchEvent(new Event('focus')))
  await expect(payment.countdown()).toHaveText(/^09:/)
  await expectTrueCountdown(payment, () => cinema.secondsLeft(held))
})

for (const [window, first] of [[37, /^00:3\d$/], [660, /^(11:00|10:5\d)$/]] as const) {
  test(`a hold window of ${window} seconds is followed by page and server (T3)`, async ({ cinema, seatMap, payment }) => {
    const show = await cinema.show()
    await cinema.setHoldWindow(show, window)
    await seatMap.openLive(show)
    await seatMap.pick(1)
    const held = await seatMap.hold()
    await expect(payment.countdown()).toHaveText(first)
    await expectTrueCountdown(payment, () => cinema.secondsLeft(held))
  })
}

test('a payment page left open past the end says so and offers no payment; the server has the last word (T2, P2)', async ({
  cinema, seatMap, payment, order, page, checked,
}) => {
  const show = await cinema.show({ holdWindow: 6 })
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await payment.countdown().evaluate((countdown) => {
    const shown = [countdown.textContent]
    Object.assign(window, { shown })
    new MutationObserver(() => shown.push(countdown.textContent)).observe(countdown, { childList: true, characterData: true, subtree: true })
  })
  await expect(payment.lapsedNotice()).toBeVisible()
  expect(await cinema.secondsLeft(held), 'not before the end').toBeLessThan(0.5)
  await expect(payment.payButton()).toBeHidden()
  await expect(payment.payButton()).toBeDisabled()
  // Two seconds more, to see what follows zero.
  await expect.poll(() => cinema.secondsLeft(held)).toBeLessThan(-2)
  const shown = await page.evaluate(() => (window as unknown as { shown: string[] }).shown)
  expect(shown.at(-1)).toBe('00:00')
  expect(shown, 'never negative, never upwards').toEqual([...shown].sort().reverse())
  for (const text of shown) expect(text).toMatch(/^00:0[0-6]$/)
  await checked(page)

  // Somebody takes the button's word for nothing.
  await page.locator('form.pay-form').evaluate((form: HTMLFormElement, card) => {
    form.querySelector<HTMLInputElement>('#card')!.value = card
    form.submit()
  }, '4242424242424242')
  await expect(order.heading()).toHaveText('Your hold has lapsed')
  await expect(page.getByRole('main')).toContainText('Nothing was charged')
  await expect(page.getByRole('main')).not.toContainText(/your tickets|paid EUR|thank you|confirmed/i)
  expect(await cinema.charges(held)).toEqual([])
  expect(await cinema.tickets(held)).toEqual([])
})

test('shows on both daylight-saving nights are told in the cinema’s time with its zone, wherever one looks from (T4)', async ({
  cinema, newBrowser,
}) => {
  const nights = {
    '2027-03-28T00:30:00Z': 'Sun 28 March 2027, 01:30 CET',
    // There is no half past two in that night.
    '2027-03-28T01:30:00Z': 'Sun 28 March 2027, 03:30 CEST',
    '2027-10-31T00:30:00Z': 'Sun 31 October 2027, 02:30 CEST',
    '2027-10-31T01:30:00Z': 'Sun 31 October 2027, 02:30 CET',
  }
  const shows = await Promise.all(
    Object.entries(nights).map(async ([startsAt, told]) => ({ told, show: await cinema.show({ startsAt }) })),
  )
  for (const timezoneId of ['America/Los_Angeles', 'Europe/Berlin', 'Pacific/Auckland']) {
    const map = new SeatMap(await newBrowser({ timezoneId }))
    for (const { told, show } of shows) {
      await map.openLive(show)
      await expect(map.page.locator('.facts-line time')).toHaveText(told)
    }
  }
})

test('Tokyo’s clock and an Arabic browser get the same text from the server and after the WASM (T5)', async ({
  cinema, other, newBrowser,
}) => {
  const show = await cinema.show()
  await other.holds(show, [1])
  await other.buys(show, [2])
  const page = await newBrowser({ timezoneId: 'Asia/Tokyo', locale: 'ar' })
  const map = new SeatMap(page)
  const sent = await (await page.goto(show.path))!.text()
  await map.live()
  expect(await page.evaluate(() => new Date(0).getHours())).toBe(9)
  const { server, browser } = await page.evaluate((html) => {
    const said = (root: Document) => [
      ...[...root.querySelectorAll('h1, time, .legend li, .row-label, .limit, .picks-list')].map((element) => element.textContent),
      ...[...root.querySelectorAll('.map input')].map((seat) => seat.getAttribute('aria-label')),
    ]
    return { server: said(new DOMParser().parseFromString(html, 'text/html')), browser: said(document) }
  }, sent)
  expect(browser).toEqual(server)
  expect(server.length).toBeGreaterThan(40)

  await map.pick(3)
  await expect(map.total()).toHaveText('Total EUR 10.50')
  const held = await map.hold()
  await expectTrueCountdown(new PaymentPage(page), () => cinema.secondsLeft(held))
  await expect(page.locator('.clock')).toContainText(/Held until \d\d:\d\d:\d\d CES?T/)
})

async function expectTrueCountdown(payment: PaymentPage, secondsLeft: () => Promise<number>): Promise<void> {
  const before = await secondsLeft()
  const shown = await payment.secondsShown()
  const after = await secondsLeft()
  expect(shown).toBeLessThanOrEqual(before + 2)
  expect(shown).toBeGreaterThanOrEqual(after - 2)
}
