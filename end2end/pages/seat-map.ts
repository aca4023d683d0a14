import { expect, type Locator, type Page } from '@playwright/test'
import type { Show } from '../fixtures/cinema'

export class SeatMap {
  constructor(readonly page: Page) {}

  async open(show: Show, query = ''): Promise<void> {
    await this.page.goto(show.path + query)
  }

  /** As for a browser that gets no stream: the map asks every few seconds. */
  async withoutStream(): Promise<this> {
    // "No content" is how a server tells a stream's reader not to come back.
    await this.page.route('**/live?*', (route) => route.fulfill({ status: 204 }))
    return this
  }

  /** Waits until the grid has taken hold of the page. */
  async live(): Promise<void> {
    await expect(this.map()).toHaveAttribute('data-live', '')
  }

  async openLive(show: Show, query = ''): Promise<void> {
    await this.open(show, query)
    await this.live()
  }

  map(): Locator {
    return this.page.locator('.map')
  }

  seat(no: number): Locator {
    return this.page.getByTestId(`seat-${no}`)
  }

  seats(): Locator {
    return this.page.getByRole('checkbox')
  }

  async pick(...seats: number[]): Promise<void> {
    for (const no of seats) await this.seat(no).check()
  }

  async unpick(...seats: number[]): Promise<void> {
    for (const no of seats) await this.seat(no).uncheck()
  }

  /** The numbers of the picked seats. */
  async picked(): Promise<number[]> {
    const values = await this.page.locator('.map input:checked').evaluateAll((seats) =>
      seats.map((seat) => Number((seat as HTMLInputElement).value)),
    )
    return values.sort((a, b) => a - b)
  }

  picks(): Locator {
    return this.page.locator('.picks-list')
  }

  /** What the map says of how old it may be. */
  freshness(): Locator {
    return this.page.getByTestId('freshness')
  }

  limit(): Locator {
    return this.page.locator('.limit')
  }

  total(): Locator {
    return this.page.locator('.total')
  }

  holdButton(): Locator {
    return this.page.getByTestId('hold')
  }

  /** Holds what is picked and says under which order. */
  async hold(): Promise<string> {
    await this.holdButton().click()
    await this.page.waitForURL(/\/orders\/[^/]+\/pay$/)
    return this.page.url().split('/').at(-2)!
  }

  takenNotice(): Locator {
    return this.page.getByTestId('taken-notice')
  }

  /** What the notice says, without its offer. */
  takenWords(): Locator {
    return this.takenNotice().getByRole('paragraph')
  }

  /** The link that picks the nearest equal choice. */
  offer(): Locator {
    return this.takenNotice().getByRole('link', { name: /^Pick / })
  }

  heldNotice(): Locator {
    return this.page.getByTestId('held-notice')
  }

  continueLink(): Locator {
    return this.page.getByRole('link', { name: 'Continue to payment' })
  }

  releaseButton(): Locator {
    return this.page.getByTestId('release')
  }

  wholeHall(): Locator {
    return this.page.getByRole('button', { name: 'Whole hall' })
  }

  /** What the screen reader says a seat is. */
  async name(no: number): Promise<string> {
    return (await this.seat(no).getAttribute('aria-label')) ?? ''
  }
}
