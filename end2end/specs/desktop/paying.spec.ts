import { expect, test } from '../../fixtures/test'
import { DECLINED_CARD, FAILING_CARD, SLOW_CARD } from '../../fixtures/visitor'
import { OrderPage } from '../../pages/order'

test('a payment that arrives after somebody else bought the seat is refunded once, and the page says so (P1)', async ({
  cinema, seatMap, payment, order, other, context, page, checked,
}) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  const held = await seatMap.hold()
  await payment.card().fill(SLOW_CARD)
  await payment.payButton().click({ noWaitAfter: true })
  await expect.poll(async () => (await cinema.orders(show))[0].state).toBe('paying')

  const waiting = new OrderPage(await context.newPage())
  await waiting.open(held)
  await expect(waiting.heading()).toHaveText('Your payment is on its way')
  await cinema.expire(held)
  await other.buys(show, [2])

  await expect(order.heading()).toHaveText('Your payment was refunded', { timeout: 15_000 })
  await expect(page.getByRole('main')).toContainText('All of the EUR 21.00 went back to your card')
  for (const fact of ['Hold ended at', 'Payment arrived at', 'Refunded at']) {
    await expect(order.fact(fact)).toHaveText(/^\d\d:\d\d:\d\d CES?T$/)
  }
  await expect(order.fact('Refunded')).toHaveText('EUR 21.00')
  await checked(page)
  expect(await cinema.charges(held)).toEqual([{ amount: 2100, currency: 'EUR', refunded: true }])
  expect(await cinema.tickets(held)).toEqual([])
  expect(await cinema.taken(show)).toEqual({ 2: 'booked' })
  // The tab that waited finds out by itself.
  await expect(waiting.heading()).toHaveText('Your payment was refunded')
})

test('a payment that arrives late but whose seats nobody took sells them all the same', async ({ cinema, seatMap, payment, order }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  const held = await seatMap.hold()
  await payment.card().fill(SLOW_CARD)
  await payment.payButton().click({ noWaitAfter: true })
  await expect.poll(async () => (await cinema.orders(show))[0].state).toBe('paying')
  await cinema.expire(held)
  await expect(order.heading()).toHaveText('Your tickets', { timeout: 15_000 })
  expect(await cinema.tickets(held)).toEqual([1, 2])
})

test('Pay clicked ten times within 200 ms charges once (P6)', async ({ cinema, seatMap, payment, order, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  const held = await seatMap.hold()
  let sent = 0
  await page.route('**/api/pay', async (route) => {
    sent += 1
    // So that all ten clicks fall on a page that still waits.
    await new Promise((resolve) => setTimeout(resolve, 500))
    await route.continue()
  })
  await payment.card().fill('4242424242424242')
  await payment.payButton().evaluate((button: HTMLButtonElement) => {
    for (let click = 0; click < 10; click += 1) setTimeout(() => button.click(), click * 20)
  })
  await expect(order.heading()).toHaveText('Your tickets')
  expect(sent).toBe(1)
  expect(await cinema.charges(held)).toHaveLength(1)
  expect(await cinema.tickets(held)).toEqual([1, 2])
  expect(await cinema.orders(show)).toHaveLength(1)
})

test('a hold sent ten times at once is one order (P7)', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  await seatMap.holdButton().evaluate((button: HTMLButtonElement) => {
    for (let click = 0; click < 10; click += 1) button.click()
  })
  await page.waitForURL(/\/pay$/)
  expect(await cinema.orders(show)).toHaveLength(1)
})

test('a decline two minutes before the end: hold and countdown go on, and the next card sells (P11)', async ({
  cinema, seatMap, payment, order, page,
}) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await cinema.age(held, 780)
  await payment.open(held)
  await expect(payment.countdown()).toHaveText(/^(02:00|01:5\d)$/)
  await expect(page.locator('.clock')).toContainText('Less than two minutes left')
  await payment.pay(DECLINED_CARD)
  // Starting to pay has renewed the hold, this once.
  await page.getByRole('link', { name: 'Continue to payment' }).click()
  await expect(payment.countdown()).toHaveText(/^(15:00|14:[3-5]\d)$/)
  await cinema.age(held, 780)
  await payment.open(held)
  await payment.pay(FAILING_CARD)
  await expect(page.getByRole('main')).toContainText('The card processor did not answer. Nothing was charged')
  await page.getByRole('link', { name: 'Continue to payment' }).click()
  await expect(payment.countdown()).toHaveText(/^(02:00|01:[3-5]\d)$/)
  await payment.pay()
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.charges(held)).toHaveLength(1)
  const attempts = await cinema.query('select distinct attempt from payments where order_id = $1', [held])
  expect(attempts).toHaveLength(3)
})

test('a price that is raised while seats are held stays what it was; a price that is sent along is ignored (P8)', async ({
  cinema, seatMap, payment, order, page,
}) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 13)
  const held = await seatMap.hold()
  await cinema.query('update shows set zone_prices = array[9900, 9900] where id = $1', [show.id])
  await page.reload()
  await expect(payment.total()).toHaveText('EUR 23.50')
  await page.locator('.pay-form').evaluate((form) => {
    for (const name of ['price', 'amount', 'total', 'amount_minor']) {
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value: '1' }))
    }
  })
  await payment.pay()
  await expect(order.heading()).toHaveText('Your tickets')
  await expect(page.getByTestId('outcome')).toContainText('Paid EUR 23.50')
  expect(await cinema.charges(held)).toEqual([{ amount: 2350, currency: 'EUR', refunded: false }])
})

test('a card that must be confirmed leads to the processor’s page and back to the tickets', async ({ cinema, seatMap, payment, order, page, checked }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await payment.card().fill('4000000000003220')
  await payment.payButton().click()
  await page.waitForURL(/\/gateway\/pay\//)
  await checked(page)
  await page.getByRole('button', { name: 'Confirm' }).click()
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.tickets(held)).toEqual([1])
  // Back leads to the processor's page, which decides nothing twice.
  await page.goBack()
  await order.open(held)
  await expect(order.tickets()).toHaveCount(1)
})

test('a card that is refused on the processor’s page keeps the hold', async ({ cinema, seatMap, payment, order, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await payment.card().fill('4000000000003220')
  await payment.payButton().click()
  await page.waitForURL(/\/gateway\/pay\//)
  await order.open(held)
  await expect(order.heading()).toHaveText('Your card must be confirmed')
  await page.getByRole('link', { name: 'Confirm the payment' }).click()
  await page.getByRole('button', { name: 'Refuse' }).click()
  await expect(order.heading()).toHaveText('The payment did not go through')
  expect(await cinema.taken(show)).toEqual({ 1: 'locked' })
})

test('the order tells what happened, and a message of the processor that comes late, twice or out of order changes nothing', async ({
  cinema, seatMap, payment, order, page,
}) => {
  const show = await cinema.show()
  for (const [no, card] of [[1, '4000000000000127'], [2, '4000000000000143'], [3, '4000000000000168'], [4, '4000000000000176']] as const) {
    await seatMap.openLive(show)
    await seatMap.pick(no)
    const held = await seatMap.hold()
    await payment.pay(card)
    await expect(order.heading()).toHaveText('Your tickets')
    const story = page.getByRole('region', { name: 'What happened' }).getByRole('listitem')
    await expect(story).toHaveCount(4)
    await expect(story.nth(2)).toContainText(`EUR 10.50 taken from the card ending ${card.slice(-4)}`)
    expect(await cinema.tickets(held)).toEqual([no])
    expect(await cinema.charges(held)).toHaveLength(1)
  }
})
