import { Nginx } from '../../fixtures/nginx'
import { expect, test } from '../../fixtures/test'
import { SeatMap } from '../../pages/seat-map'

test('a map hears of holds, releases and sales by its stream, without asking', async ({ cinema, seatMap, other, page }) => {
  const show = await cinema.show()
  const asked: string[] = []
  page.on('request', (request) => /\/(seats|live)/.test(request.url()) && asked.push(request.url().split(show.id)[1]))
  await seatMap.openLive(show)
  await expect.poll(() => asked).toEqual([expect.stringMatching(/^\/live\?version=\d+$/)])

  const order = await other.holds(show, [1, 2])
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, held, free again by /, { timeout: 1_000 })
  await other.releases(order)
  await expect(seatMap.seat(1)).toHaveAccessibleName(/, available$/, { timeout: 1_000 })
  await other.buys(show, [2])
  await expect(seatMap.seat(2)).toHaveAccessibleName(/, sold$/, { timeout: 1_000 })
  expect(asked, 'one stream and not one question').toHaveLength(1)
})

test('a map whose connections were cut agrees with the cinema again', async ({ cinema, matinee, newBrowser, other, watch }) => {
  watch.expectComplaint(/net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)/)
  let nginx = await Nginx.before(matinee.url)
  try {
    const show = await cinema.show()
    const map = new SeatMap(await newBrowser({ baseURL: nginx.url }))
    await map.openLive(show)
    await other.holds(show, [3])
    await expect(map.seat(3)).toHaveAccessibleName(/, held, /, { timeout: 2_000 })
    await expect(map.freshness()).toHaveText('Live: what others pick shows within a second.')
    await nginx.close()
    await other.holds(show, [4])
    await map.page.waitForTimeout(1_000)
    await expect(map.seat(4)).toHaveAccessibleName(/, available$/)
    await expect(map.freshness(), 'whoever sees an old map is told').toHaveText(/^No connection: /, { timeout: 10_000 })
    nginx = await Nginx.before(matinee.url, nginx.port)
    await expect(map.seat(4)).toHaveAccessibleName(/, held, /, { timeout: 15_000 })
    await expect(map.freshness()).toHaveText(/^Live: /, { timeout: 15_000 })
    await other.holds(show, [5])
    await expect(map.seat(5)).toHaveAccessibleName(/, held, /)
    await map.page.close()
  } finally {
    await nginx.close()
  }
})

test('a browser that loses its network says so at once under the map, and when it is back', async ({ cinema, context, seatMap }) => {
  await seatMap.openLive(await cinema.show())
  await expect(seatMap.freshness()).toHaveText(/^Live: /)
  await context.setOffline(true)
  await expect(seatMap.freshness()).toHaveText(/^No connection: /, { timeout: 1_000 })
  await context.setOffline(false)
  await expect(seatMap.freshness()).toHaveText(/^(Live|Up to date): /, { timeout: 15_000 })
})

test('eight tabs of seat maps over HTTP/1.1 all load, and all come to know what happens (B13)', async ({ cinema, context, other }) => {
  const show = await cinema.show()
  const tabs: SeatMap[] = []
  for (let nth = 0; nth < 8; nth++) {
    const tab = new SeatMap(await context.newPage())
    await tab.openLive(show)
    tabs.push(tab)
  }
  await other.holds(show, [5])
  // Three have a stream; the others ask every four seconds.
  for (const tab of tabs) await expect(tab.seat(5)).toHaveAccessibleName(/, held, /)
  const asking = async () => (await Promise.all(tabs.map((tab) => tab.freshness().textContent()))).filter((words) => words?.startsWith('Up to date: '))
  await expect.poll(async () => (await asking()).length, { timeout: 15_000 }).toBe(5)
})

test('behind nginx with its defaults and gzip, news arrive within a second (B12)', async ({ cinema, matinee, newBrowser, other }) => {
  const nginx = await Nginx.before(matinee.url)
  try {
    const show = await cinema.show()
    const map = new SeatMap(await newBrowser({ baseURL: nginx.url }))
    await map.openLive(show)
    for (const seat of [1, 7, 8]) {
      const since = Date.now()
      await other.holds(show, [seat])
      await expect(map.seat(seat)).toHaveAccessibleName(/, held, /, { timeout: 1_000 })
      console.log(`seat ${seat} seen behind nginx after ${Date.now() - since} ms, the hold's own time included`)
    }
    await map.pick(2)
    await map.hold()
    await map.page.close()
  } finally {
    await nginx.close()
  }
})
