import { expect, type Locator, type Page } from '@playwright/test'
import { GOOD_CARD } from '../fixtures/visitor'

export class PaymentPage {
  constructor(readonly page: Page) {}

  async open(order: string): Promise<void> {
    await this.page.goto(`/orders/${order}/pay`)
  }

  countdown(): Locator {
    return this.page.getByTestId('countdown')
  }

  /** Seconds that the page says are left. */
  async secondsShown(): Promise<number> {
    const text = await this.countdown().innerText()
    expect(text).toMatch(/^\d+:[0-5]\d$/)
    const [minutes, seconds] = text.split(':').map(Number)
    return minutes * 60 + seconds
  }

  card(): Locator {
    return this.page.getByLabel('Card number')
  }

  payButton(): Locator {
    return this.page.getByTestId('pay')
  }

  releaseButton(): Locator {
    return this.page.getByTestId('release')
  }

  lapsedNotice(): Locator {
    return this.page.getByTestId('lapsed-notice')
  }

  total(): Locator {
    return this.page.getByTestId('total')
  }

  /** What is bought: a seat's name and its price a row. */
  async lines(): Promise<string[]> {
    return this.page.getByRole('table', { name: 'Seats and prices' }).locator('tbody tr').allInnerTexts()
  }

  async pay(card = GOOD_CARD): Promise<void> {
    await this.card().fill(card)
    await this.payButton().click()
    await this.page.waitForURL(/\/orders\/[^/]+$/)
  }
}
