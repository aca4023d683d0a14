import { expect, test } from '../../fixtures/test'

const SEVEN = [1, 2, 3, 4, 5, 6, 7]

for (const { currency, price, shown, charged } of [
  { currency: 'JPY', price: 1800, shown: 'JPY 12600', charged: 12_600 },
  { currency: 'KWD', price: 3250, shown: 'KWD 22.750', charged: 22_750 },
  { currency: 'EUR', price: 1999, shown: 'EUR 139.93', charged: 13_993 },
]) {
  test(`seven seats in ${currency}: what is shown is what is charged (B9)`, async ({ cinema, seatMap, payment, page }) => {
    const show = await cinema.show({ currency, prices: [price, price] })
    await seatMap.openLive(show)
    await seatMap.pick(...SEVEN)
    await expect(seatMap.total()).toHaveText(`Total ${shown}`)
    const held = await seatMap.hold()
    await expect(payment.total()).toHaveText(shown)
    await expect(payment.payButton()).toHaveText(`Pay ${shown}`)
    await payment.pay()
    await expect(page.getByTestId('outcome')).toContainText(`Paid ${shown} at`)
    expect(await cinema.charges(held)).toEqual([{ amount: charged, currency, refunded: false }])
  })
}
