import { expect, test } from '../../fixtures/test'

test('every day of the demo cinema’s week lists films, and every hall can be opened', async ({ whatsOn, seatMap, page, checked }, info) => {
  await whatsOn.open()
  await expect(whatsOn.days()).toHaveCount(7)
  await info.attach('what’s on', { body: await page.screenshot({ fullPage: true }), contentType: 'image/png' })
  const halls = new Map<string, string>()
  for (let day = 1; day < 7; day += 1) {
    await whatsOn.days().nth(day).click()
    await expect(whatsOn.days().nth(day)).toHaveAttribute('aria-current', 'page')
    const shows = await page.locator('a.show').evaluateAll((links) =>
      links.map((link) => ({ hall: link.querySelector('.hall')!.textContent!, path: link.getAttribute('href')! })),
    )
    expect(shows.length).toBeGreaterThan(5)
    for (const { hall, path } of shows) halls.set(hall, path)
  }
  expect([...halls.keys()].sort()).toEqual(expect.arrayContaining(['Great Hall', 'Lantern Room', 'Observatory']))
  for (const [hall, path] of [...halls].filter(([hall]) => !hall.startsWith('Hall '))) {
    await page.goto(path)
    await seatMap.live()
    await info.attach(hall, { body: await page.screenshot({ fullPage: true }), contentType: 'image/png' })
    await checked(page)
  }
})
