import { expect, test } from '../../fixtures/test'

test('the forms work before the WASM has arrived', async ({ cinema, seatMap, payment, order, page }) => {
  const show = await cinema.show()
  await page.route('**/*.wasm', () => {})
  await page.goto(show.path, { waitUntil: 'domcontentloaded' })
  await seatMap.pick(1, 2)
  await seatMap.holdButton().click({ noWaitAfter: true })
  await expect(payment.total()).toHaveText('EUR 21.00')
  const held = page.url().split('/').at(-2)!
  await payment.card().fill('4242 4242 4242 4242')
  await payment.payButton().click({ noWaitAfter: true })
  await expect(order.heading()).toHaveText('Your tickets')
  expect(await cinema.tickets(held)).toEqual([1, 2])
  await page.unrouteAll({ behavior: 'ignoreErrors' })
})

test('what was picked before the WASM arrived stays picked', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  let arrive = () => {}
  const arrival = new Promise<void>((resolve) => (arrive = resolve))
  await page.route('**/*.wasm', async (route) => {
    await arrival
    await route.continue()
  })
  await page.goto(show.path, { waitUntil: 'domcontentloaded' })
  await seatMap.pick(1, 14)
  arrive()
  await seatMap.live()
  expect(await seatMap.picked()).toEqual([1, 14])
  await expect(seatMap.picks()).toHaveText('A1, C2')
  await expect(seatMap.total()).toHaveText('Total EUR 23.50')
})
