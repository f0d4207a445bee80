import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const places = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The Chromium of this machine; undefined without one. `CHROMIUM_PATH` names another. */
export const chromiumPath = places.find((path) => path !== undefined && existsSync(path));

export function launchBrowser(): Promise<Browser> {
  // Its sandbox wants rights that containers do not give; the pages here are our own.
  return chromium.launch({ executablePath: chromiumPath!, args: ['--no-sandbox'] });
}

export interface OpenedPage {
  readonly page: Page;
  /** What the browser complained about: scripts that failed, loads that a policy forbade. */
  readonly complaints: readonly string[];
}

/** A window of its own, with nothing kept from others. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(url);
  return { page, complaints };
}
