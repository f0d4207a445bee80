import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConversationStore, openConversationStore } from '@hearth/conversations';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser, openPage } from './__fixtures__/browser.ts';
import { chatModel } from './__fixtures__/chat-model.ts';
import { ChatPage } from './__fixtures__/open-chat.ts';
import { type PageServer, startPageServer } from './__fixtures__/page-server.ts';

describe.skipIf(!chromiumPath)('conversations on the page', () => {
  let browser: Browser;
  let directory: string;
  let store: ConversationStore;
  let server: PageServer;
  let openGate = () => {};

  const start = async (port = 0) => {
    store = openConversationStore(join(directory, 'conversations.sqlite'));
    const gate = new Promise<void>((resolve) => {
      openGate = resolve;
    });
    const models = [
      chatModel('first', (message) => `First: ${message}`),
      chatModel(
        'second',
        (message) => `Second: ${message}`,
        () => gate,
      ),
    ];
    server = await startPageServer({ port, models, conversations: store, pace: 1 });
  };
  const stop = async () => {
    openGate();
    await server.close();
    store.close();
  };

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(() => browser?.close());

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hearth-chat-'));
    await start();
  });

  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await stop();
    await rm(directory, { recursive: true });
  });

  it('are restored after a restart of the server, as they were', async () => {
    const { page } = await openPage(browser, server.url);
    const chat = new ChatPage(page);
    await chat.ask('Hello **there**');
    await chat.button('Settings').click();
    await page.getByLabel('System prompt').fill('Be short.');
    await chat.button('Close').click();
    await chat.ask('Again');
    const stats = await page.locator('.stats').allTextContents();
    await page.locator('.sidebar li').waitFor();
    const { port } = server;
    await stop();
    await start(port);
    await page.reload();
    await chat.answered(2);
    expect(await chat.questions.allTextContents()).toEqual(['Hello **there**', 'Again']);
    expect(await chat.answers.allTextContents()).toEqual(['First: Hello there', 'First: Again']);
    expect(await page.locator('.stats').allTextContents()).toEqual(stats);
    expect(await chat.ask('Third')).toBe('First: Third');
    const { messages } = JSON.parse(server.requests.findLast(({ path }) => path === '/v1/chat/completions')!.body);
    expect(messages.map(({ content }: { content: string }) => content)).toEqual([
      'Be short.',
      'Hello **there**',
      'First: Hello **there**',
      'Again',
      'First: Again',
      'Third',
    ]);
  });

  it('lie in a list, from which they are opened, found and deleted', async () => {
    const { page } = await openPage(browser, server.url);
    const chat = new ChatPage(page);
    await chat.ask('About apples');
    await chat.button('New conversation').click();
    await chat.ask('About pears');
    const items = page.locator('.sidebar li a');
    await expect.poll(() => items.allTextContents()).toEqual(['About pears', 'About apples']);
    await items.nth(1).click();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['First: About apples']);
    await page.goBack();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['First: About pears']);
    await page.goBack();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['First: About apples']);
    await page.goForward();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['First: About pears']);
    await page.getByRole('searchbox').fill('apple');
    await expect.poll(() => items.allTextContents()).toEqual(['About apples']);
    await page.getByRole('searchbox').fill('');
    await expect.poll(() => items.count()).toBe(2);
    await page.locator('.sidebar li').first().hover();
    await chat.button('Delete “About pears”').click();
    await chat.button('Delete').click();
    await expect.poll(() => items.allTextContents()).toEqual(['About apples']);
    // The one that was open has gone; what is there now is new.
    await expect.poll(() => chat.answers.count()).toBe(0);
    expect(store.list().conversations.map(({ title }) => title)).toEqual(['About apples']);
  });

  it('stay at their places in the history when one is left amid its answer', async () => {
    const { page } = await openPage(browser, server.url);
    const chat = new ChatPage(page);
    await chat.ask('Short');
    await chat.button('New conversation').click();
    await chat.send('Long '.repeat(200));
    await expect.poll(() => store.list().conversations.length).toBe(2);
    await expect.poll(() => page.url()).toContain(store.list().conversations[0]!.id);
    await page.goBack();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['First: Short']);
    const { id } = store.list().conversations.find(({ title }) => title === 'Short')!;
    expect(new URL(page.url()).hash).toBe(`#${id}`);
    await page.goForward();
    await expect.poll(() => chat.questions.first().textContent()).toMatch(/^Long/);
  });

  it('that are not there any more are told of', async () => {
    const { page } = await openPage(browser, `${server.url}/#%conv_0`);
    await page.getByText('The conversation could not be opened').waitFor();
    const chat = new ChatPage(page);
    expect(await chat.ask('Hello')).toBe('First: Hello');
    await page.reload();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['First: Hello']);
  });

  it('go on with another model, whose loading is shown', async () => {
    const { page } = await openPage(browser, server.url);
    const chat = new ChatPage(page);
    await chat.ask('Hello');
    await page.getByLabel('Model').selectOption('second');
    await chat.send('And you?');
    await page.getByText('loading', { exact: false }).waitFor();
    openGate();
    await chat.answered(2);
    expect(await chat.answers.last().textContent()).toBe('Second: And you?');
    await page.reload();
    await chat.answered(2);
    expect(await page.getByLabel('Model').inputValue()).toBe('second');
  });

  it('are kept as far as they came when the page is closed amid an answer', async () => {
    const { page } = await openPage(browser, server.url);
    const chat = new ChatPage(page);
    await chat.ask('Hello');
    await chat.send('And then?');
    await expect.poll(() => store.list().conversations.length).toBe(1);
    const { id } = store.list().conversations[0]!;
    await expect.poll(() => store.get(id).messages.length).toBeGreaterThanOrEqual(3);
    await page.close();
    const again = await openPage(browser, `${server.url}/#${id}`);
    await expect.poll(() => new ChatPage(again.page).questions.allTextContents()).toEqual(['Hello', 'And then?']);
  });

  it('that have a question without an answer get one when asked to', async () => {
    const { id } = store.create({ title: 'Unanswered', messages: [{ role: 'user', content: 'Hello' }] });
    const { page } = await openPage(browser, `${server.url}/#${id}`);
    const chat = new ChatPage(page);
    await chat.button('Answer').click();
    await chat.answered(1);
    expect(await chat.button('Answer').count()).toBe(0);
    expect(await chat.answers.allTextContents()).toEqual(['First: Hello']);
    await expect.poll(() => store.get(id).messages.map(({ content }) => content)).toEqual(['Hello', 'First: Hello']);
  });

  it('lose nothing to a second tab that does not know how they went on', async () => {
    const { page } = await openPage(browser, server.url);
    const first = new ChatPage(page);
    await first.ask('Hello');
    const { id } = store.list().conversations[0]!;
    await expect.poll(() => store.get(id).messages.length).toBe(2);
    const other = await openPage(browser, `${server.url}/#${id}`);
    const second = new ChatPage(other.page);
    await second.answered(1);
    await first.ask('From the first');
    await expect.poll(() => store.get(id).messages.length).toBe(4);
    // It answers there as well, but keeps to itself what does not fit.
    await second.ask('From the second');
    await other.page.getByText('This conversation went on in another tab.').waitFor();
    expect(store.get(id).messages.map(({ content }) => content)).toEqual([
      'Hello',
      'First: Hello',
      'From the first',
      'First: From the first',
    ]);
    await other.page.reload();
    await expect.poll(() => second.questions.allTextContents()).toEqual(['Hello', 'From the first']);
  });
});
