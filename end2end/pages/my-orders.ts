import type { Locator, Page } from '@playwright/test'

export class MyOrders {
  constructor(readonly page: Page) {}

  async open(): Promise<void> {
    await this.page.goto('/my')
  }

  orders(): Locator {
    return this.page.getByRole('main').getByRole('listitem')
  }

  order(title: string): Locator {
    return this.orders().filter({ hasText: title })
  }
}
