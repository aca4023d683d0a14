import type { Locator, Page } from '@playwright/test'

export class WhatsOn {
  constructor(readonly page: Page) {}

  async open(): Promise<void> {
    await this.page.goto('/')
  }

  days(): Locator {
    return this.page.getByRole('navigation', { name: 'Days' }).getByRole('link')
  }

  film(title: string): Locator {
    return this.page.getByRole('article').filter({ has: this.page.getByRole('heading', { name: title, exact: true }) })
  }

  showsOf(title: string): Locator {
    return this.film(title).getByRole('link')
  }

  /** Follows the links to a film's first show on the day after today. */
  async chooseTomorrow(title: string): Promise<void> {
    await this.days().nth(1).click()
    await this.showsOf(title).first().click()
  }
}
