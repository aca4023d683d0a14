// Visits seat pages as a phone of the middle class on a slow mobile network, each time with an empty cache.
//
//   node phone.mjs ORIGIN VISITS PATH..
//
// Prints a line of JSON for each visit: milliseconds from the start of the navigation.

import { chromium, devices } from "@playwright/test";

const [origin, visits, ...paths] = process.argv.slice(2);
const CPU_SLOWDOWN = 4;
const NETWORK = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 };
const PATIENCE = 30_000;

const browser = await chromium.launch({
  executablePath: process.env.MATINEE_CHROMIUM,
  // Chromium's own sandbox refuses to run as root; only the own server is visited.
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
try {
  for (let visit = -1; visit < Number(visits); visit++) {
    for (const path of paths) {
      const seen = await look(path);
      // The first visit starts the browser's processes and counts for nothing.
      if (visit >= 0) console.log(JSON.stringify(seen));
    }
  }
} finally {
  await browser.close();
}

async function look(path) {
  const { userAgent, viewport, deviceScaleFactor, isMobile, hasTouch } = devices["Pixel 5"];
  const context = await browser.newContext({ userAgent, viewport, deviceScaleFactor, isMobile, hasTouch });
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  const devtools = await context.newCDPSession(page);
  let bytes = 0;
  devtools.on("Network.loadingFinished", ({ encodedDataLength }) => (bytes += encodedDataLength));
  await devtools.send("Network.enable");
  await devtools.send("Network.emulateNetworkConditions", NETWORK);
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
  await page.addInitScript(() => {
    window.seen = { largest: 0 };
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.seen.largest = entry.startTime;
    }).observe({ type: "largest-contentful-paint", buffered: true });
    const watch = new MutationObserver(() => {
      if (!document.querySelector(".map[data-live]")) return;
      window.seen.live = performance.now();
      watch.disconnect();
    });
    watch.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-live"] });
  });

  let seen;
  try {
    await page.goto(origin + path, { waitUntil: "load", timeout: PATIENCE });
    await page.waitForFunction(() => window.seen.live, null, { timeout: PATIENCE });
    // A late image may still be the largest paint.
    await page.waitForTimeout(500);
    seen = await page.evaluate(() => ({
      ...window.seen,
      first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    }));
    // Live means that a tap is answered: the total changes.
    await page.locator('input[name="seats[]"]:not([data-s])').first().check();
    await page.waitForFunction(() => /\d/.test(document.querySelector(".total")?.textContent), null, { timeout: PATIENCE });
  } catch (error) {
    errors.unshift(error.message.split("\n")[0]);
  }
  if (errors.length > 0) throw new Error(`${path}: ${errors.join("; ")}`);
  await context.close();
  return { path, first_paint: seen.first, largest_paint: seen.largest, live: seen.live, kilobytes: bytes / 1000 };
}
