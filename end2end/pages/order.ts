import type { Locator, Page } from '@playwright/test'

export class OrderPage {
  constructor(readonly page: Page) {}

  async open(order: string): Promise<void> {
    await this.page.goto(`/orders/${order}`)
  }

  heading(): Locator {
    return this.page.getByRole('heading', { level: 1 })
  }

  tickets(): Locator {
    return this.page.getByTestId('ticket')
  }

  /** The tickets' seats in words, such as "Row C, seat 7, premium". */
  async seats(): Promise<string[]> {
    return this.tickets().locator('dd').filter({ hasText: /^Row / }).allInnerTexts()
  }

  /** A fact by its name, such as "Refunded at". */
  fact(name: string): Locator {
    return this.page.locator('.facts > div').filter({ has: this.page.locator('dt', { hasText: new RegExp(`^${name}$`) }) }).locator('dd')
  }
}
