import { expect, test } from '../../fixtures/test'
import { GOOD_CARD } from '../../fixtures/visitor'
import { SeatMap } from '../../pages/seat-map'

test('a conflict names the taken seat, keeps the rest picked, and its link picks the nearest equal choice (P2)', async ({
  cinema, seatMap, other, page,
}) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await expect(seatMap.freshness(), 'as old as the page').toHaveText(/^The seats as of \d\d:\d\d:\d\d CES?T\.$/)
  await seatMap.pick(1, 2, 3)
  await other.holds(show, [2])
  await seatMap.holdButton().click()

  await expect(seatMap.takenWords()).toHaveText('A2 was just taken, so none was held. Still picked: A1, A3.')
  await expect(page).toHaveURL(new RegExp(show.path))
  expect(await seatMap.picked()).toEqual([1, 3])
  await expect(seatMap.seat(2)).toBeDisabled()
  await expect(seatMap.seat(2)).toHaveAccessibleName(/, held, free again by/)
  expect(await cinema.taken(show)).toEqual({ 2: 'locked' })

  await seatMap.offer().click()
  expect(await seatMap.picked()).toEqual([7, 8, 9])
  await seatMap.hold()
  expect(await cinema.taken(show)).toEqual({ 2: 'locked', 7: 'locked', 8: 'locked', 9: 'locked' })
})

test('after a conflict the rest can be held at once', async ({ cinema, seatMap, payment, other }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1, 2, 3)
  await other.buys(show, [1, 2])
  await seatMap.holdButton().click()
  await expect(seatMap.takenWords()).toHaveText('A1, A2 were just taken, so none was held. Still picked: A3.')
  const held = await seatMap.hold()
  expect(await payment.lines()).toEqual(['A3, standard\tEUR 10.50'])
  await payment.pay()
  expect(await cinema.tickets(held)).toEqual([3])
})

test('eleven seats are refused in words, and so is none (H4)', async ({ cinema, seatMap }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await expect(seatMap.limit()).toHaveText('Up to 10 seats, held for you all or none.')
  await seatMap.holdButton().click()
  await expect(seatMap.takenWords()).toHaveText('Pick at least one seat, then hold it.')
  await seatMap.pick(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
  await seatMap.holdButton().click()
  await expect(seatMap.takenWords()).toHaveText('You can hold up to 10 seats in one show; this was 11.')
  expect(await cinema.taken(show)).toEqual({})
})

test('a card that is none is refused in words, and the hold goes on', async ({ cinema, seatMap, payment, page, order }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await payment.card().fill('4242')
  await payment.payButton().click()
  await expect(page.getByTestId('problem-notice')).toContainText('That is not a card number')
  await payment.pay()
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.tickets(held)).toEqual([1])
})

test('a fresh visit shows what is held and releases it at the visitor’s word (B2)', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1, 2)
  await seatMap.hold()
  await page.goBack()
  await expect(seatMap.heldNotice()).toContainText('You hold A1, A2')
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, held by you until \d\d:\d\d$/)
  await seatMap.releaseButton().click()
  await expect(seatMap.heldNotice()).toHaveCount(0)
  expect(await cinema.taken(show)).toEqual({})
})

test('the payment page finds out by itself when the hold is over (T2)', async ({ cinema, seatMap, payment, order }) => {
  const show = await cinema.show({ holdWindow: 4 })
  await seatMap.open(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await expect(payment.countdown()).toHaveText(/^00:0\d$/)
  await expect(order.heading()).toHaveText('Your hold has lapsed')
  expect(await cinema.secondsLeft(held)).toBeLessThan(0)
})

test('a form sent after the hold has lapsed is answered with what became of the order (P2)', async ({ cinema, seatMap, payment, order }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await cinema.expire(held)
  await payment.pay()
  await expect(order.heading()).toHaveText('Your hold has lapsed')
  expect(await cinema.charges(held)).toEqual([])
})

test('the payment form posted ten times in parallel charges once, and every answer shows it (P6, P7)', async ({
  cinema, seatMap, page, context, order,
}) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1, 2)
  const held = await seatMap.hold()
  const attempt = await page.locator('.pay-form input[name=attempt]').inputValue()
  const post = () =>
    context.request.post('/api/pay', {
      form: { order: held, attempt, card: GOOD_CARD }, headers: { accept: 'text/html' }, maxRedirects: 0,
    })
  const answers = await Promise.all(Array.from({ length: 10 }, post))
  for (const answer of answers) {
    expect(answer.status()).toBe(302)
    expect(answer.headers().location).toBe(`/orders/${held}`)
  }
  await order.open(held)
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.charges(held)).toHaveLength(1)
  expect(await cinema.tickets(held)).toEqual([1, 2])
  expect(await cinema.query('select from payments where order_id = $1', [held])).toHaveLength(1)

  const again = await post()
  expect(again.status()).toBe(302)
  expect(again.headers().location).toBe(`/orders/${held}`)
  expect(await cinema.charges(held)).toHaveLength(1)
})

test('ten payment pages of one order, all sent at once, charge once (P6)', async ({ cinema, seatMap, context, order }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      context.request.post('/api/pay', {
        form: { order: held, attempt: crypto.randomUUID(), card: GOOD_CARD }, headers: { accept: 'text/html' }, maxRedirects: 0,
      }),
    ),
  )
  for (const answer of answers) expect(answer.status()).toBe(302)
  await order.open(held)
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.charges(held)).toHaveLength(1)
})

test('what is held in another tab is called one’s own, not taken', async ({ cinema, seatMap, context }) => {
  const show = await cinema.show()
  const tab = new SeatMap(await context.newPage())
  await tab.open(show)
  await tab.pick(1, 2, 7)
  await seatMap.open(show)
  await seatMap.pick(1, 2)
  await seatMap.hold()

  await tab.holdButton().click()
  await expect(tab.takenWords()).toHaveText('You hold A1, A2 already, so none was held anew.')
  await expect(tab.heldNotice()).toContainText('You hold A1, A2')
  await expect(tab.offer()).toBeHidden()
  expect(await tab.picked()).toEqual([7])
  expect(await cinema.taken(show)).toEqual({ 1: 'locked', 2: 'locked' })
})
