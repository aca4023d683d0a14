import { defineConfig, devices, type PlaywrightTestConfig } from '@playwright/test'

// `make test-browser` says where Chromium is; Playwright's own download is never used.
const chromium = {
  browserName: 'chromium',
  launchOptions: {
    executablePath: process.env.MATINEE_CHROMIUM,
    // Containers have no user namespaces for the sandbox; the pages are ours. Nothing but the tests may use the network.
    args: ['--no-sandbox', '--disable-background-networking'],
  },
} as const satisfies PlaywrightTestConfig['use']

export default defineConfig({
  testDir: 'specs',
  outputDir: 'results',
  reporter: [['list'], ['html', { outputFolder: 'report', open: 'never' }]],
  // Each worker has a server and a cinema of its own, and each test its own show.
  fullyParallel: true,
  workers: 2,
  // A flaky test is a fault, of the test or of the program.
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 7_000 },
  use: { ...chromium, actionTimeout: 7_000, navigationTimeout: 15_000, screenshot: 'only-on-failure' },
  projects: [
    { name: 'desktop', testMatch: ['**/everywhere/*.spec.ts', '**/desktop/*.spec.ts'], use: devices['Desktop Chrome'] },
    { name: 'phone', testMatch: ['**/everywhere/*.spec.ts', '**/phone/*.spec.ts'], use: devices['Pixel 7'] },
    {
      name: 'no-js',
      testMatch: ['**/everywhere/*.spec.ts', '**/no-js/*.spec.ts'],
      use: { ...devices['Desktop Chrome'], javaScriptEnabled: false },
    },
  ],
})
