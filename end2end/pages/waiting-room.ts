import { type Locator, type Page } from '@playwright/test'
import type { Show } from '../fixtures/cinema'

export class WaitingRoom {
  constructor(readonly page: Page) {}

  /** Where the seat map leads while it is not one's turn. */
  path(show: Show): string {
    return `${show.path}/queue`
  }

  heading(name: string | RegExp): Locator {
    return this.page.getByTestId('waiting-room').getByRole('heading', { name })
  }

  words(): Locator {
    return this.page.getByTestId('waiting-room')
  }

  joinButton(): Locator {
    return this.page.getByTestId('join')
  }
}
