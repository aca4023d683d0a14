import { expect, test } from '../../fixtures/test'

test('the limit of ten is said before it bites, and bites (H4)', async ({ cinema, seatMap, checked, page }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await expect(seatMap.limit()).toHaveText('Up to 10 seats, held for you all or none.')
  await seatMap.pick(1, 2, 3, 4, 5, 6, 7)
  await expect(seatMap.limit()).toHaveText('3 more are possible.')
  await seatMap.pick(8, 9)
  await expect(seatMap.limit()).toHaveText('1 more is possible.')
  await seatMap.pick(10)
  await expect(seatMap.limit()).toHaveText('That is ten seats, the most one visitor can hold in a show.')
  await seatMap.seat(11).click()
  await expect(seatMap.seat(11)).not.toBeChecked()
  await checked(page)
  await seatMap.unpick(10)
  await seatMap.pick(11)
  await seatMap.hold()

  // What is held counts.
  await seatMap.openLive(show)
  await seatMap.seat(12).click()
  await expect(seatMap.seat(12)).not.toBeChecked()
  await expect(seatMap.limit()).toHaveText('That is ten seats with the 10 you hold, the most one visitor can hold in a show.')
  expect(Object.keys(await cinema.taken(show))).toHaveLength(10)
})

test('a tab that does not know of the other’s hold is refused by the server in words (H4)', async ({ cinema, seatMap, context, page, watch }) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  const tab = await context.newPage()
  await tab.goto(show.path)
  await page.bringToFront()
  await seatMap.pick(1, 2, 3, 4, 5, 6)
  await seatMap.hold()
  watch.expectStatus(422)
  await tab.bringToFront()
  for (const no of [7, 8, 9, 10, 11]) await tab.getByTestId(`seat-${no}`).check()
  await tab.getByTestId('hold').click()
  await expect(tab.getByTestId('taken-notice')).toContainText('you hold 6 already, and this was 5 more')
  expect(Object.keys(await cinema.taken(show))).toHaveLength(6)
})

test('holding without a pick says what to do', async ({ cinema, seatMap }) => {
  await seatMap.openLive(await cinema.show())
  await seatMap.holdButton().click()
  await expect(seatMap.takenWords()).toHaveText('Pick at least one seat, then hold it.')
})
