import { expect, test } from '../../fixtures/test'

test('an expired order’s payment page redirects in the first response, also while the database is slow (B3)', async ({
  cinema, matinee, other, order, payment,
}) => {
  const show = await cinema.show()
  const held = await other.holds(show, [1])
  await cinema.expire(held)

  const slow = await matinee.database.connect()
  await slow.query('begin; lock table orders in access exclusive mode')
  const answer = other.get(`/orders/${held}/pay`)
  await slow.query('select pg_sleep(0.3); rollback')
  slow.release()
  expect((await answer).status()).toBe(302)
  expect((await answer).headers().location).toBe(`/orders/${held}`)

  await payment.open(held)
  await expect(order.heading()).toHaveText('Your hold has lapsed')
  await expect(order.fact('Ended at')).toHaveText(/^\d\d:\d\d:\d\d CES?T$/)
})

test('a stranger gets a cookie with the first hold, not before (B3)', async ({ cinema, matinee, other }) => {
  const show = await cinema.show()
  const sessions = async () => (await cinema.query('select from sessions')).length
  const before = await sessions()
  for (const path of ['/', show.path, '/my']) {
    expect((await other.get(path)).headers()['set-cookie'], path).toBeUndefined()
  }
  expect(await sessions()).toBe(before)

  const slow = await matinee.database.connect()
  await slow.query('begin; lock table orders in access exclusive mode')
  const answer = other.askFor(show, [1])
  await slow.query('select pg_sleep(0.3); rollback')
  slow.release()
  const cookie = (await answer).headers()['set-cookie']
  expect(cookie).toMatch(/^matinee=/)
  expect(cookie).toMatch(/; HttpOnly/)
  expect(cookie).toMatch(/; SameSite=Lax/)
  expect((await answer).headers().location).toMatch(/\/pay$/)
  expect(await sessions()).toBe(before + 1)
})

test('an address that leads nowhere answers 404 with a page', async ({ page, watch }) => {
  watch.expectStatus(404)
  for (const path of ['/shows/none', '/orders/00000000-0000-4000-8000-000000000000', '/nowhere']) {
    expect((await page.goto(path))!.status(), path).toBe(404)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('There is nothing at this address')
  }
})
