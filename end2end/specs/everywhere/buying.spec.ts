import { expect, test } from '../../fixtures/test'
import { DECLINED_CARD } from '../../fixtures/visitor'

test('a moviegoer finds a show, picks two seats, pays, and leaves with two tickets', async ({
  cinema, whatsOn, seatMap, payment, order, myOrders, page, checked, javaScriptEnabled,
}) => {
  const show = await cinema.show()
  await whatsOn.open()
  await whatsOn.days().nth(1).click()
  // The programme may be shown as it was two seconds ago.
  await expect(async () => {
    await page.reload()
    await expect(whatsOn.film(show.title)).toBeVisible({ timeout: 100 })
  }).toPass()
  await expect(whatsOn.film(show.title)).toContainText('24 seats free')
  await checked(page)
  await whatsOn.showsOf(show.title).click()

  await expect(page.getByRole('heading', { level: 1 })).toHaveText(show.title)
  if (javaScriptEnabled) await seatMap.live()
  await seatMap.pick(14, 15)
  await expect(seatMap.total()).toHaveText(javaScriptEnabled ? 'Total EUR 26.00' : /^Picked/)
  await checked(page)
  const held = await seatMap.hold()

  await expect(payment.total()).toHaveText('EUR 26.00')
  expect(await payment.lines()).toEqual(['C2, premium\tEUR 13.00', 'C3, premium\tEUR 13.00'])
  await checked(page)
  await payment.pay()

  await expect(order.heading()).toHaveText('Your tickets')
  expect(await order.seats()).toEqual(['Row C, seat 2, premium', 'Row C, seat 3, premium'])
  await expect(page.getByRole('img', { name: 'QR code for seat C2' })).toBeVisible()
  expect(await cinema.tickets(held)).toEqual([14, 15])
  expect(await cinema.charges(held)).toEqual([{ amount: 2600, currency: 'EUR', refunded: false }])
  await checked(page)

  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'My tickets' }).click()
  await expect(myOrders.order(show.title)).toContainText('C2, C3, EUR 26.00')
  await expect(myOrders.order(show.title)).toContainText('Tickets')
})

test('a declined card keeps the hold, and a good one then buys the seats', async ({ cinema, seatMap, payment, order, page, checked }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  await payment.pay(DECLINED_CARD)

  await expect(order.heading()).toHaveText('The payment did not go through')
  await expect(page.getByRole('main')).toContainText('the bank declined the card. Nothing was charged, and you still hold A1.')
  await checked(page)
  await page.getByRole('link', { name: 'Continue to payment' }).click()
  await expect(page.getByTestId('declined-notice')).toBeVisible()
  await payment.pay()

  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.tickets(held)).toEqual([1])
})

test('seats given back on the payment page are free for others at once', async ({ cinema, seatMap, payment, order, page, other }) => {
  const show = await cinema.show()
  await seatMap.open(show)
  await seatMap.pick(1, 2)
  const held = await seatMap.hold()
  await payment.releaseButton().click()

  await page.waitForURL(show.path)
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/)
  await other.buys(show, [1, 2])
  await order.open(held)
  await expect(order.heading()).toHaveText('You gave these seats back')
})

test('closed sales are said before anything is picked', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await cinema.query(`update shows set sales_close_at = now() - interval '1 second' where id = $1`, [show.id])
  await seatMap.open(show)
  await expect(page.getByTestId('closed-notice')).toHaveText('Online sales for this show are closed.')
  await expect(seatMap.holdButton()).toBeDisabled()
})
