import { randomUUID } from 'node:crypto'
import { ForeignSite } from '../../fixtures/foreign-site'
import { expect, test } from '../../fixtures/test'

test('no other site can hold, release or pay in a visitor’s name, by whatever form or script (B4)', async ({
  cinema, matinee, seatMap, payment, page, watch,
}) => {
  const show = await cinema.show()
  await seatMap.openLive(show)
  await seatMap.pick(1)
  const held = await seatMap.hold()
  const before = await cinema.query('select * from orders where id = $1', [held])
  const commands = {
    '/api/hold_seats': [['show', show.id], ['seats[]', '2'], ['attempt', randomUUID()]],
    '/api/release_hold': [['order', held]],
    '/api/pay': [['order', held], ['attempt', randomUUID()], ['card', '4242424242424242']],
  }
  watch.expectStatus(403)
  watch.expectComplaint(/blocked by CORS policy|Failed to load resource: net::ERR_FAILED/)

  const foreign = await ForeignSite.open()
  const tab = await page.context().newPage()
  for (const host of ['127.0.0.1', 'localhost'] as const) {
    for (const [path, fields] of Object.entries(commands)) {
      const action = matinee.url + path
      for (const enctype of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
        await tab.goto(foreign.address(host))
        const answer = tab.waitForResponse(action)
        await tab.evaluate(({ action, enctype, fields }) => {
          const form = Object.assign(document.createElement('form'), { action, enctype, method: 'post' })
          for (const [name, value] of fields) {
            form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
          }
          document.body.append(form)
          form.submit()
        }, { action, enctype, fields })
        expect((await answer).status(), `${enctype} form from ${host} to ${path}`).toBe(403)
        await tab.waitForURL(action)
      }
      await page.goto(foreign.address(host))
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/json']) {
        for (const mode of ['no-cors', 'cors'] as const) {
          await page.evaluate(async ({ action, type, mode, body }) => {
            await fetch(action, { method: 'POST', mode, credentials: 'include', headers: { 'content-type': type }, body }).catch(() => {})
          }, { action, type, mode, body: new URLSearchParams(fields).toString() })
        }
      }
    }
  }
  await tab.close()
  await foreign.close()

  expect(await cinema.query('select * from orders where id = $1', [held])).toEqual(before)
  expect(await cinema.orders(show)).toHaveLength(1)
  expect(await cinema.taken(show)).toEqual({ 1: 'locked' })
  await payment.open(held)
  await payment.pay()
  expect(await cinema.tickets(held)).toEqual([1])
})
