import { expect, test } from '../../fixtures/test'

const LONG = 'The Honourable Dr. Ottilie Ambrose Boxes'
const LABELS = ['2', '10', 'Z', 'AA', 'AB', 'AC', 'AD', 'AE', 'AF', 'Ё', 'א', `A'"<b>`, '🎬🍿', LONG, 'A', 'A', 'R']
const PLAN = `zone s Stalls
zone b Balcony
${LABELS.slice(0, 15).map((label) => `row ${label} | sss`).join('\n')}
row A | bbb
numbers right-to-left
row R | sss`

/** The seat's number in the show: its place in the plan, three to a row. */
const seatNo = (row: number, place: number) => 3 * row + place

test('labels of every kind are shown as they are, in the plan’s order, and never decide what is bought (B8)', async ({
  cinema, seatMap, payment, order, myOrders, page, checked,
}) => {
  expect(LONG).toHaveLength(40)
  const show = await cinema.show({ plan: PLAN })
  await seatMap.openLive(show)
  await expect(page.getByRole('rowheader')).toHaveText(LABELS)
  await expect(page.locator('.map b')).toHaveCount(0)
  for (const [row, label] of LABELS.entries()) {
    const zone = row === 15 ? 'balcony' : 'stalls'
    const number = label === 'R' ? 3 : 1
    expect(await seatMap.name(seatNo(row, 1))).toMatch(new RegExp(`^Row ${escape(label)}, seat ${number}, ${zone}, EUR`))
  }
  await checked(page)

  // Each odd one once; the two rows A are told apart by their zones.
  const wanted = [
    { no: seatNo(1, 1), name: '10-1' },
    { no: seatNo(9, 2), name: 'Ё2' },
    { no: seatNo(10, 3), name: 'א3' },
    { no: seatNo(11, 1), name: `A'"<b>-1` },
    { no: seatNo(12, 1), name: '🎬🍿-1' },
    { no: seatNo(13, 2), name: `${LONG}-2` },
    { no: seatNo(14, 1), name: 'Stalls A1' },
    { no: seatNo(15, 1), name: 'Balcony A1' },
    { no: seatNo(16, 1), name: 'R3' },
  ]
  await seatMap.pick(...wanted.map(({ no }) => no).reverse())
  const held = await seatMap.hold()
  const lines = (await payment.lines()).map((line) => line.split('\t')[0].replace(/, (stalls|balcony)$/, ''))
  expect(lines.map((line) => line.replaceAll(/[\u2066-\u2069\u200e\u200f]/g, ''))).toEqual(wanted.map(({ name }) => name))
  await checked(page)
  await payment.pay()

  await expect(order.tickets()).toHaveCount(wanted.length)
  const seats = await order.seats()
  expect(seats[3]).toBe(`Row A'"<b>, seat 1, stalls`)
  expect(seats[6]).toBe('Row A, seat 1, stalls')
  expect(seats[7]).toBe('Row A, seat 1, balcony')
  expect(seats[8]).toBe('Row R, seat 3, stalls')
  await checked(page)
  expect(await cinema.tickets(held)).toEqual(wanted.map(({ no }) => no))
  await myOrders.open()
  await expect(myOrders.order(show.title)).toContainText(`A'"<b>`)
})

test('a film, a hall and a zone with awkward names are text, not markup', async ({ cinema, seatMap, payment, order, page }) => {
  const title = `<script>alert(1)</script> & "Ωmega" '</title>`
  const show = await cinema.show({ title, plan: `zone s <i>S</i> & "co"\nrow A | ss` })
  await seatMap.openLive(show)
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(title)
  await expect(page).toHaveTitle(new RegExp(escape(title)))
  expect(await seatMap.name(1)).toBe('Row A, seat 1, <i>s</i> & "co", EUR 10.50, available')
  await seatMap.pick(1)
  await seatMap.hold()
  await expect(page.getByRole('heading', { name: title })).toBeVisible()
  await payment.pay()
  expect(await order.seats()).toEqual(['Row A, seat 1, <i>s</i> & "co"'])
})

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
