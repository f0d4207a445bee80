import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { openConversationStore } from '@hearth/conversations';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser, openPage } from './__fixtures__/browser.ts';
import { chatModel } from './__fixtures__/chat-model.ts';
import { ChatPage } from './__fixtures__/open-chat.ts';
import { type PageServer, startPageServer } from './__fixtures__/page-server.ts';

const require = createRequire(import.meta.url);

/** What would run, load or lead somewhere if it could. */
const hostile = `<script>window.ran = 1</script>
<img src=x onerror="window.ran = 2">
<svg onload="window.ran = 3"></svg>
<iframe srcdoc="<script>parent.ran = 4</script>"></iframe>

[click](javascript:window.ran=5) [data](data:text/html,<script>window.ran=6</script>) [own](/v1/models)
![picture](http://127.0.0.1:9/tracker.png) ![own](/metrics)
<style>body { display: none }</style><form action="http://127.0.0.1:9/"><button>Go</button></form>

\`\`\`html
<script>window.ran = 7</script>
\`\`\`

| a | b |
|---|---|
| <b onmouseover="window.ran = 8">x</b> | [outside](https://example.com) |
`;
const maximal = 300_000;

describe.skipIf(!chromiumPath)('the safety of the page', () => {
  let browser: Browser;
  let server: PageServer;

  beforeAll(async () => {
    browser = await launchBrowser();
    const models = [chatModel('fake', (message) => (message === 'Attack' ? hostile : `Echo: ${message}`))];
    server = await startPageServer({ models, conversations: openConversationStore(':memory:') });
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  it('runs and loads nothing that a model has written', async () => {
    const { page } = await openPage(browser, server.url);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const chat = new ChatPage(page);
    await chat.ask('Attack');
    const answer = page.locator('.answer');
    expect(await answer.textContent()).toContain('<script>window.ran = 1</script>');
    expect(await answer.locator('script, iframe, svg:not(.icon), img, style, form').count()).toBe(0);
    const links = await answer.locator('a').evaluateAll((all) => all.map((link) => link.outerHTML));
    expect(links.map((html) => /href="([^"]*)"/.exec(html)?.[1])).toEqual([
      'http://127.0.0.1:9/tracker.png',
      'https://example.com',
    ]);
    for (const html of links) expect(html).toContain('target="_blank" rel="noopener noreferrer nofollow"');
    expect(await page.evaluate(() => 'ran' in window)).toBe(false);
    // Stored and read again, it is no different.
    await page.reload();
    await chat.answered(1);
    expect(await page.evaluate(() => 'ran' in window)).toBe(false);
    expect(asked.filter((url) => !url.startsWith(server.url))).toEqual([]);
  });

  it.each([
    ['quotes', '> '.repeat(3000)],
    ['lists', '- '.repeat(3000)],
    ['quotes that can still be parsed', '> '.repeat(300)],
  ])('shows as it was written what is nested too deeply to be drawn: %s', async (_, text) => {
    const store = openConversationStore(':memory:');
    const messages = [
      { role: 'user', content: 'Go on' },
      { role: 'assistant', content: `${text}x` },
    ] as const;
    const { id } = store.create({ title: 'Deep', messages });
    const deep = await startPageServer({ models: [chatModel('fake', () => 'Yes.')], conversations: store });
    try {
      const { page, complaints } = await openPage(browser, `${deep.url}/#${id}`);
      const chat = new ChatPage(page);
      await chat.answered(1);
      expect(await chat.answers.textContent()).toBe(`${text}x`);
      expect(await chat.ask('Are you there?')).toBe('Yes.');
      expect(complaints).toEqual([]);
    } finally {
      await deep.close();
      store.close();
    }
  });

  it('forbids what it does not do itself: scripts, styles and connections from elsewhere', async () => {
    const { page, complaints } = await openPage(browser, server.url);
    const outcome = await page.evaluate(async () => {
      // Trusted types have some fail already where they are made.
      const attempts: (() => void)[] = [
        () => {
          const script = document.createElement('script');
          script.textContent = 'window.ran = 1';
          document.body.append(script);
        },
        () => document.body.setAttribute('onclick', 'window.ran = 2'),
        () => {
          document.body.innerHTML = '<img src="/none" onerror="window.ran = 3">';
        },
      ];
      for (const attempt of attempts) {
        try {
          attempt();
        } catch {}
      }
      document.body.click();
      const sent = await fetch('http://127.0.0.1:9/').then(
        () => 'sent',
        () => 'refused',
      );
      return { sent, ran: 'ran' in window };
    });
    expect(outcome).toEqual({ sent: 'refused', ran: false });
    expect(complaints.join('\n')).toContain('Content Security Policy');
  });

  it('needs nothing but the server, and little of it', async () => {
    const { page, complaints } = await openPage(browser, 'about:blank');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const network = await page.context().newCDPSession(page);
    await network.send('Network.enable');
    let numBytes = 0;
    network.on('Network.loadingFinished', ({ encodedDataLength }) => {
      numBytes += encodedDataLength;
    });
    await page.goto(server.url, { waitUntil: 'networkidle' });
    await new ChatPage(page).ask('Hello');
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((url) => !url.startsWith(server.url))).toEqual([]);
    expect(numBytes).toBeGreaterThan(50_000);
    expect(numBytes).toBeLessThan(maximal);
    expect(complaints).toEqual([]);
  });

  it('asks for a key where the server wants one, and keeps it for the tab', async () => {
    const keyed = await startPageServer({ models: [chatModel('fake', () => 'Yes.')], apiKeys: ['the-key'] });
    try {
      const { page } = await openPage(browser, keyed.url);
      const chat = new ChatPage(page);
      // What no browser can send must not be kept: no request would leave the page any more.
      await page.getByRole('textbox', { name: 'Key' }).fill('ключ');
      await page.keyboard.press('Enter');
      await page.getByText('A key has only letters').waitFor();
      await page.getByRole('textbox', { name: 'Key' }).fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByText('The server does not know this key.').waitFor();
      await page.getByRole('textbox', { name: 'Key' }).fill('the-key');
      await page.keyboard.press('Enter');
      expect(await chat.ask('Hello')).toBe('Yes.');
      await page.reload();
      expect(await chat.ask('Hello')).toBe('Yes.');
      expect(await page.evaluate(() => Object.values(localStorage))).not.toContain('the-key');
    } finally {
      await keyed.close();
    }
  });

  describe('accessibility', () => {
    const axe = require.resolve('axe-core/axe.min.js');

    /** What axe finds, for people to read. */
    async function findings(page: Page): Promise<string[]> {
      // As whoever develops the page, and not as the page: its policy lets nobody add scripts.
      await page.evaluate(`(() => { ${await readFile(axe, 'utf8')} })()`);
      return page.evaluate(async () => {
        const { axe } = window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
        interface Violation {
          readonly id: string;
          readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
        }
        const { violations } = await axe.run();
        return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
      });
    }

    it.each(['light', 'dark'] as const)('has nothing to find fault with, in %s colors', async (colorScheme) => {
      const { page } = await openPage(browser, server.url, { colorScheme, reducedMotion: 'reduce' });
      const chat = new ChatPage(page);
      expect(await findings(page)).toEqual([]);
      await chat.ask('Attack');
      await page.locator('.question').hover();
      expect(await findings(page)).toEqual([]);
      await chat.button('Edit and send again').click();
      expect(await findings(page)).toEqual([]);
      await chat.button('Cancel').click();
      for (const panel of ['Settings', 'Statistics']) {
        await chat.button(panel).click();
        expect(await findings(page)).toEqual([]);
        await chat.button('Close').click();
      }
      await page.setViewportSize({ width: 390, height: 780 });
      expect(await findings(page)).toEqual([]);
      await chat.button('Conversations').click();
      expect(await findings(page)).toEqual([]);
    });
  });
});
