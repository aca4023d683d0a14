import { expect, test } from '../../fixtures/test'
import { DECLINED_CARD } from '../../fixtures/visitor'

const TEN = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

test('Back after holding ten seats gives them back, and they can be picked again at once (H5)', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(...TEN)
  await seatMap.hold()

  await page.goBack()
  for (const no of TEN) await expect(seatMap.seat(no)).toHaveAccessibleName(/, available$/)
  await expect(seatMap.takenWords()).toHaveText(/^You came back to the seat map, so the seats you held were given back/)
  expect(await cinema.taken(show)).toEqual({})
  await seatMap.live()
  await seatMap.pick(...TEN)
  await seatMap.hold()
  expect(Object.keys(await cinema.taken(show))).toHaveLength(10)
})

test('Back after a declined card frees exactly the seven held seats (H6)', async ({ cinema, seatMap, payment, other, page }) => {
  const show = await cinema.show()
  await other.buys(show, [20])
  await seatMap.openLive(show)
  await seatMap.pick(1, 2, 3, 7, 8, 9, 13)
  await seatMap.hold()
  await payment.pay(DECLINED_CARD)
  expect(Object.keys(await cinema.taken(show))).toHaveLength(8)

  await page.goBack()
  await expect(page).toHaveURL(/\/pay$/)
  await page.goBack()
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/)
  expect(await cinema.taken(show)).toEqual({ 20: 'booked' })
})

test('Back pressed before the payment page has come alive gives the seats back too', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  await page.route('**/*.wasm', () => {})
  await seatMap.holdButton().click({ noWaitAfter: true })
  await page.waitForURL(/\/pay$/, { waitUntil: 'commit' })
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.goBack()
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/)
  expect(await cinema.taken(show)).toEqual({})
})

test('Forward after Back tells that the seats were given back', async ({ cinema, seatMap, order, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  await seatMap.hold()
  await page.goBack()
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/)

  await page.goForward()
  await expect(order.heading()).toHaveText('You gave these seats back')
})

test('a seat map brought back from the back/forward cache gives the seats back too', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await seatMap.openLive(show)
  await expect(seatMap.heldNotice()).toBeVisible()

  // Chromium keeps no page that says no-store; other browsers do: this page as it was, and the note of the payment page.
  await page.evaluate(([show, order]) => sessionStorage.setItem(`matinee.order.${show}`, order), [show.id, held])
  await page.evaluate(() => window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })))
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/)
  expect(await cinema.taken(show)).toEqual({})
})

test('neither reloading nor coming by a link releases or renews anything (H3)', async ({ cinema, seatMap, payment, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  const since = () => cinema.query('select locked_at from orders where id = $1', [held])
  const before = await since()

  await page.reload()
  await expect(payment.payButton()).toBeEnabled()
  await page.getByRole('link', { name: 'What’s on' }).click()
  await seatMap.openLive(show)
  await expect(seatMap.heldNotice()).toContainText('You hold A1')
  await page.reload()
  await seatMap.live()
  await expect(seatMap.heldNotice()).toContainText('You hold A1')
  await seatMap.continueLink().click()
  await expect(payment.payButton()).toBeEnabled()
  expect(await since()).toEqual(before)
})

test('after paying, Back and Forward show the tickets and offer no second payment (B1)', async ({ cinema, seatMap, payment, order, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await payment.pay()
  await expect(order.heading()).toHaveText('Your tickets')

  await page.goBack()
  await expect(order.heading()).toHaveText('Your tickets')
  await expect(payment.payButton()).toHaveCount(0)
  await page.goBack()
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, sold$/)
  await page.goForward()
  await expect(order.heading()).toHaveText('Your tickets')
  await expect(payment.payButton()).toHaveCount(0)

  expect(await cinema.tickets(held)).toEqual([1])
  expect(await cinema.charges(held)).toHaveLength(1)
})

test('coming back to the map later, after a fresh visit that said what is held, gives nothing back', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  await seatMap.hold()
  await seatMap.openLive(show)
  await expect(seatMap.heldNotice()).toContainText('You hold A1')
  await page.getByRole('link', { name: 'What’s on' }).click()
  await page.goBack()
  await seatMap.live()
  await expect(seatMap.heldNotice()).toContainText('You hold A1')
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, held by you/)
  expect(await cinema.taken(show)).toEqual({ 1: 'locked' })
})
