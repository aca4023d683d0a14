import { expect, test } from '../../fixtures/test'
import { PaymentPage } from '../../pages/payment'
import { SeatMap } from '../../pages/seat-map'

test('a second tab releases nothing, and the first buys exactly what it showed (B2)', async ({
  cinema, seatMap, payment, order, context, checked,
}) => {
  const [show, elsewhere] = [await cinema.show(), await cinema.show()]
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  const first = await seatMap.hold()

  const tab = new SeatMap(await context.newPage())
  await tab.openLive(show)
  await expect(tab.heldNotice()).toContainText('You hold A1, A2')
  await expect(tab.seat(1)).toHaveAccessibleName(/, held by you until \d\d:\d\d$/)
  await expect(tab.limit()).toHaveText('Up to 8 more: you hold 2 already.')
  await checked(tab.page)
  await tab.pick(7)
  const second = await tab.hold()
  await tab.openLive(elsewhere)
  await tab.pick(1)
  const third = await tab.hold()
  expect(await cinema.taken(show)).toEqual({ 1: 'locked', 2: 'locked', 7: 'locked' })

  await payment.page.bringToFront()
  expect(await payment.lines()).toEqual(['A1, standard\tEUR 10.50', 'A2, standard\tEUR 10.50'])
  await payment.pay()
  await expect(order.tickets()).toHaveCount(2)
  expect(await cinema.tickets(first)).toEqual([1, 2])
  expect(await cinema.tickets(second)).toEqual([])
  await expect(new PaymentPage(tab.page).payButton()).toBeEnabled()
  expect(await cinema.tickets(third)).toEqual([])
})

test('Back in one tab leaves the other tab’s hold alone', async ({ cinema, seatMap, payment, context, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  await seatMap.hold()
  const tab = new SeatMap(await context.newPage())
  await tab.openLive(show)
  await tab.pick(2)
  await tab.hold()

  await tab.page.goBack()
  await expect(tab.seat(2)).toHaveAccessibleName(/, available$/)
  expect(await cinema.taken(show)).toEqual({ 1: 'locked' })
  await page.bringToFront()
  await page.reload()
  await expect(payment.payButton()).toBeEnabled()
})

test('the notice on a fresh visit releases at the visitor’s word', async ({ cinema, seatMap, context }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  await seatMap.hold()
  const tab = new SeatMap(await context.newPage())
  await tab.openLive(show)
  await tab.releaseButton().click()
  await expect(tab.heldNotice()).toHaveCount(0)
  expect(await cinema.taken(show)).toEqual({})
})

test('another browser sees the seats as held, and whoever has the link may look but not pay', async ({ cinema, seatMap, newBrowser }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  const stranger = await newBrowser()
  const map = new SeatMap(stranger)
  await map.openLive(show)
  await expect(map.seat(1)).toHaveAccessibleName(/, held, free again by \d\d:\d\d unless bought$/)
  const payment = new PaymentPage(stranger)
  await payment.open(held)
  await expect(stranger.getByRole('heading', { name: 'Held in another browser' })).toBeVisible()
  await expect(payment.payButton()).toHaveCount(0)
})

test('what is held in another tab is called one’s own, not taken, and the way to pay is there', async ({ cinema, seatMap, context, checked, watch }) => {
  watch.expectStatus(409)
  const show = await cinema.show()
  // Without a stream, or the tab would know before it asks.
  const tab = await new SeatMap(await context.newPage()).withoutStream()
  await tab.openLive(show)
  await tab.pick(1, 2, 7)
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  const held = await seatMap.hold()

  await tab.holdButton().click()
  await expect(tab.heldNotice()).toContainText('You hold A1, A2')
  await expect(tab.takenNotice()).toBeHidden()
  await tab.live()
  expect(await tab.picked()).toEqual([7])
  await checked(tab.page)
  await tab.continueLink().click()
  await tab.page.waitForURL(`/orders/${held}/pay`)
  expect(await cinema.taken(show)).toEqual({ 1: 'locked', 2: 'locked' })
})

test('sales that close while one looks are said when one holds', async ({ cinema, seatMap, page, watch }) => {
  watch.expectStatus(409)
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  await cinema.query(`update shows set sales_close_at = now() - interval '1 second' where id = $1`, [show.id])
  await seatMap.holdButton().click()
  await expect(page.getByTestId('closed-notice')).toHaveText('Online sales for this show are closed.')
  await expect(seatMap.holdButton()).toBeDisabled()
  expect(await cinema.taken(show)).toEqual({})
})

test('a map that learns of the visitor’s own hold in another tab says so, and does not call it taken', async ({ cinema, seatMap, context }) => {
  const show = await cinema.show()
  const tab = new SeatMap(await context.newPage())
  await tab.openLive(show)
  await tab.pick(1, 2, 7)
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  await seatMap.hold()
  await tab.page.bringToFront()
  await expect(tab.heldNotice()).toContainText('You hold A1, A2')
  await expect(tab.takenNotice()).toBeHidden()
  await expect(tab.seat(1)).toHaveAccessibleName(/, held by you/)
  expect(await tab.picked()).toEqual([7])
})

test('a hold whose answer is lost is found again, also when other seats are picked meanwhile', async ({ cinema, seatMap, page, watch }) => {
  watch.expectComplaint(/net::ERR_CONNECTION_RESET|net::ERR_FAILED/)
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  await page.route('**/api/hold_seats', async (route) => {
    await route.fetch()
    await route.abort('connectionreset')
  })
  await seatMap.holdButton().click()
  // That the cinema did not answer is said for as long as the map does not know better, which may be no time at all.
  await expect(seatMap.heldNotice()).toContainText('You hold A1, A2')
  await expect(seatMap.takenNotice()).toBeHidden()
  expect(await cinema.taken(show)).toEqual({ 1: 'locked', 2: 'locked' })
  await seatMap.live()
  await page.unrouteAll()
  await seatMap.pick(7)
  await seatMap.hold()
})

test('a hold that does not arrive is said, and can be sent again', async ({ cinema, seatMap, page, watch }) => {
  watch.expectComplaint(/net::ERR_CONNECTION_RESET|net::ERR_FAILED/)
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  await page.route('**/api/hold_seats', (route) => route.abort('connectionreset'))
  await seatMap.holdButton().click()
  await expect(seatMap.takenWords()).toHaveText(/^The cinema did not answer/)
  expect(await seatMap.picked()).toEqual([1, 2])
  expect(await cinema.taken(show)).toEqual({})
  await page.unrouteAll()
  await seatMap.hold()
})

test('a hold whose answer is slow leads to the payment page, whatever a map without a stream learns meanwhile', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.withoutStream()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  let asked = 0
  page.on('response', (response) => (asked += Number(response.url().endsWith('/seats'))))
  await page.route('**/api/hold_seats', async (route) => {
    const answer = await route.fetch()
    const before = asked
    // The map asks every four seconds, and finds the seats held.
    await expect.poll(() => asked, { timeout: 15_000 }).toBeGreaterThan(before + 1)
    await route.fulfill({ response: answer })
  })
  await seatMap.holdButton().click()
  await page.waitForURL(/\/orders\/[^/]+\/pay$/, { timeout: 20_000 })
  expect(await cinema.taken(show)).toEqual({ 1: 'locked', 2: 'locked' })
})

test('a hold whose answer is slower than the stream leads to the payment page', async ({ cinema, seatMap, page, newBrowser }) => {
  const show = await cinema.show()
  const stranger = new SeatMap(await newBrowser())
  await stranger.openLive(show)
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  await page.route('**/api/hold_seats', async (route) => {
    const answer = await route.fetch()
    // By then this page's own stream has said so too.
    await expect(stranger.seat(1)).toHaveAccessibleName(/, held, /)
    await page.waitForTimeout(500)
    await route.fulfill({ response: answer })
  })
  await seatMap.holdButton().click()
  await page.waitForURL(/\/orders\/[^/]+\/pay$/)
  expect(await cinema.taken(show)).toEqual({ 1: 'locked', 2: 'locked' })
})
