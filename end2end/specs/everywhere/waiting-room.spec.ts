import { expect, test } from '../../fixtures/test'
import { WaitingRoom } from '../../pages/waiting-room'

test('an opening sale: one waits, places are drawn, the page leads to the map by itself, and seats are held', async ({
  cinema, seatMap, page, checked, payment,
}) => {
  const show = await cinema.show()
  const room = new WaitingRoom(page)
  await cinema.opensIn(show, 3600, 60)
  await seatMap.open(show)
  await expect(page).toHaveURL(room.path(show))
  await expect(room.heading('The sale has not opened yet')).toBeVisible()
  await checked(page)
  await room.joinButton().click()
  await expect(room.heading('You are in the waiting room')).toBeVisible()
  await expect(room.words()).toContainText('Nobody is waiting with you.')
  await expect(room.joinButton()).toHaveCount(0)
  await checked(page)

  // Sixty a minute: the turn of the first comes after a second.
  await cinema.opensIn(show, 3, 60)
  await page.reload()
  // Without a click: the page asks again by itself, and leads to the map when it is the visitor's turn.
  await expect(page).toHaveURL(show.path, { timeout: 20_000 })
  await seatMap.seat(1).check()
  await seatMap.holdButton().click()
  await expect(payment.payButton()).toBeEnabled()
})

test('the number, those before, and the time are said; a turn that is over is said, too', async ({ cinema, page, checked }) => {
  const show = await cinema.show()
  const room = new WaitingRoom(page)
  await cinema.opensIn(show, 3600, 1)
  await cinema.comeBefore(show, 11)
  await page.goto(room.path(show))
  await expect(room.words()).toContainText('11 people are waiting already.')
  await room.joinButton().click()
  await cinema.opensIn(show, -1, 1)
  await page.reload()
  await expect(room.heading(/^Your number is \d+$/)).toBeVisible()
  await expect(room.words()).toContainText(/(\d+ people are|One person is|Nobody is) before you\. Your turn comes in about \d+ (seconds|minutes), at \d\d:\d\d:\d\d CET\./)
  await checked(page)
  await cinema.opensIn(show, -7200, 1)
  await page.reload()
  await expect(room.heading('Your turn is over')).toBeVisible()
  await checked(page)
})

test('a show without a waiting room says when its sale opens, and holds nothing before', async ({ cinema, seatMap, page }) => {
  const show = await cinema.show()
  await cinema.opensIn(show, 3600, null)
  await seatMap.open(show)
  await expect(page.getByTestId('opening-notice')).toContainText(/^The sale for this show opens on .+\./)
  await expect(seatMap.holdButton()).toBeDisabled()
})
