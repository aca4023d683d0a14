import { expect, test } from '../../fixtures/test'

test('a conflict names the taken seat, keeps the rest picked, and offers the nearest equal choice (P2)', async ({
  cinema, seatMap, other, page, watch, checked,
}) => {
  const show = await cinema.show()
  await seatMap.withoutStream()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2, 3)
  // The map must not learn of it before the server says no.
  let answered = () => {}
  const conflict = new Promise<void>((resolve) => (answered = resolve))
  await page.route('**/seats', async (route) => {
    await conflict
    await route.continue()
  })
  await other.holds(show, [2])
  watch.expectStatus(409)
  page.on('response', (response) => response.status() === 409 && answered())
  await seatMap.holdButton().click()

  await expect(seatMap.takenWords()).toHaveText('A2 was just taken, so none was held. Still picked: A1, A3.')
  expect(await seatMap.picked()).toEqual([1, 3])
  await expect(seatMap.seat(2)).toHaveAccessibleName(/, held, free again by \d\d:\d\d unless bought$/)
  expect(await cinema.taken(show)).toEqual({ 2: 'locked' })
  await checked(page)

  await expect(seatMap.offer()).toHaveText('Pick B1, B2, B3')
  await seatMap.offer().click()
  await expect(seatMap.takenNotice()).toBeHidden()
  expect(await seatMap.picked()).toEqual([7, 8, 9])
  await seatMap.hold()
  expect(await cinema.taken(show)).toEqual({ 2: 'locked', 7: 'locked', 8: 'locked', 9: 'locked' })
})

test('the map redraws by itself when somebody holds, releases or buys a seat, and says when a picked one goes', async ({
  cinema, seatMap, other,
}) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1, 2)
  const held = await other.holds(show, [2, 5])
  await other.buys(show, [6])

  await expect(seatMap.seat(5)).toHaveAccessibleName(/, held, free again by/)
  await expect(seatMap.seat(6)).toHaveAccessibleName(/, sold$/)
  await expect(seatMap.takenWords()).toHaveText('A2 was just taken. Still picked: A1.')
  // The notice may be out of sight above a big hall; the bar with the picks is not.
  await expect(seatMap.limit()).toHaveText('A2 was just taken.')
  expect(await seatMap.picked()).toEqual([1])
  await expect(seatMap.total()).toHaveText('Total EUR 10.50')

  await other.releases(held)
  await expect(seatMap.seat(5)).toHaveAccessibleName(/, available$/)
  await seatMap.pick(5)
})

test('a held seat says until when at the latest, by the cinema’s clock', async ({ cinema, seatMap, other }) => {
  const show = await cinema.show({ holdWindow: 660 })
  const held = await other.holds(show, [1])
  const [{ latest }] = await cinema.query<{ latest: string }>(
    `select to_char((locked_at + interval '22 minutes') at time zone 'Europe/Berlin', 'HH24:MI') as latest from orders where id = $1`,
    [held],
  )
  await seatMap.openLive(show)
  await expect(seatMap.seat(1)).toHaveAccessibleName(
    `Row A, seat 1, standard, EUR 10.50, held, free again by ${latest} unless bought`,
  )
})

test('a hold that lapses while one looks frees its seat with no word from the server (P3, T3)', async ({ cinema, seatMap, other, page }) => {
  const show = await cinema.show({ holdWindow: 37 })
  const held = await other.holds(show, [1])
  await cinema.age(held, 31)
  // Whatever the page asks from now on is never answered.
  const asked: string[] = []
  await page.route('**/seats', (route) => void asked.push(route.request().url()))
  page.on('request', (request) => {
    if (request.resourceType() === 'fetch' && !request.url().endsWith('.wasm') && !asked.includes(request.url())) asked.push(request.url())
  })
  await seatMap.openLive(show)
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, held, free again by/)

  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/, { timeout: 10_000 })
  const left = await cinema.secondsLeft(held)
  expect(left, 'not before its end, and within a second or two of it').toBeLessThan(0.1)
  expect(left).toBeGreaterThan(-3)
  expect(asked.every((url) => url.endsWith('/seats')), `asked ${asked}`).toBe(true)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await seatMap.pick(1)
  await seatMap.hold()
})
