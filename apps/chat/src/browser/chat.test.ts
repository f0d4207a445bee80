import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser, type OpenedPage, openPage } from './__fixtures__/browser.ts';
import { chatModel } from './__fixtures__/chat-model.ts';
import { ChatPage } from './__fixtures__/open-chat.ts';
import { type PageServer, startPageServer } from './__fixtures__/page-server.ts';

const endless = 'on and '.repeat(1000);
const model = chatModel('fake', (message) => (message === 'Go' ? endless : `${message}, indeed.`));

// Without a browser there is nothing to test; CI installs one, and counts what is skipped as failed.
describe.skipIf(!chromiumPath)('the chat page', () => {
  let browser: Browser;
  let server: PageServer;
  let opened: OpenedPage;
  let chat: ChatPage;

  beforeAll(async () => {
    browser = await launchBrowser();
    server = await startPageServer({ models: [model], pace: 2 });
  });

  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  beforeEach(async () => {
    opened = await openPage(browser, server.url);
    chat = new ChatPage(opened.page);
  });

  afterEach(() => opened.page.context().close());

  it('answers, with the conversation before it', async () => {
    expect(await chat.ask('One')).toBe('One, indeed.');
    expect(await chat.ask('Two')).toBe('Two, indeed.');
    expect(await chat.questions.allTextContents()).toEqual(['One', 'Two']);
    const { messages } = JSON.parse(server.requests.findLast(({ path }) => path === '/v1/chat/completions')!.body);
    expect(messages.map(({ content }: { content: string }) => content)).toEqual(['One', 'One, indeed.', 'Two']);
    expect(await chat.page.locator('.stats').last().textContent()).toMatch(
      /^began after .+ · \d+ tokens · .+ a second · \d+ of \d+ read before$/,
    );
  });

  it('breaks lines with Shift+Enter, and sends nothing that is empty', async () => {
    await chat.box.press('Enter');
    await chat.box.pressSequentially('One');
    await chat.box.press('Shift+Enter');
    await chat.box.pressSequentially('Two');
    expect(await chat.questions.count()).toBe(0);
    await chat.box.press('Enter');
    await chat.answered(1);
    expect(await chat.questions.textContent()).toBe('One\nTwo');
    expect(await chat.box.inputValue()).toBe('');
  });

  it.each(['button', 'Escape'])('stops by %s, keeps what there is, and goes on from it', async (how) => {
    await chat.send('Go');
    await chat.page.getByText('on and on and').waitFor();
    if (how === 'button') await chat.button('Stop').click();
    else await chat.page.keyboard.press('Escape');
    await chat.answered(1);
    const kept = (await chat.answers.textContent())!;
    expect(endless.startsWith(kept)).toBe(true);
    expect(await chat.page.locator('.stats').textContent()).toBe('stopped');
    expect(await chat.ask('Next')).toBe('Next, indeed.');
    expect(await chat.answers.first().textContent()).toBe(kept);
  });

  it('writes an answer again', async () => {
    await chat.ask('One');
    await chat.ask('Two');
    const numAsked = server.requests.filter(({ path }) => path === '/v1/chat/completions').length;
    // Of an earlier one: what came after it goes.
    await chat.button('Answer again').first().click();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['One, indeed.']);
    expect(await chat.questions.allTextContents()).toEqual(['One']);
    const asked = server.requests.filter(({ path }) => path === '/v1/chat/completions').slice(numAsked);
    expect(asked.map(({ body }) => JSON.parse(body).messages)).toEqual([[{ role: 'user', content: 'One' }]]);
  });

  it('sends an edited message again, and what came after it goes', async () => {
    await chat.ask('One');
    await chat.ask('Two');
    await chat.questions.first().hover();
    await chat.button('Edit and send again').first().click();
    const editor = chat.page.getByRole('textbox', { name: 'Edit the message' });
    await editor.fill('Three');
    await editor.press('Enter');
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['Three, indeed.']);
    expect(await chat.questions.allTextContents()).toEqual(['Three']);
  });

  it('edits the last message with arrow up, and leaves it as it was with Escape', async () => {
    await chat.ask('One');
    await chat.box.press('ArrowUp');
    const editor = chat.page.getByRole('textbox', { name: 'Edit the message' });
    expect(await editor.inputValue()).toBe('One');
    await editor.press('Escape');
    expect(await chat.questions.allTextContents()).toEqual(['One']);
    expect(await chat.box.evaluate((box) => box === document.activeElement)).toBe(true);
  });

  it('leaves an edit and the list of conversations with Escape, while an answer goes on', async () => {
    await chat.send('Go');
    await chat.page.getByText('on and on and').waitFor();
    await chat.questions.hover();
    await chat.button('Edit and send again').click();
    const editor = chat.page.getByRole('textbox', { name: 'Edit the message' });
    await editor.press('Escape');
    await editor.waitFor({ state: 'detached' });
    await chat.page.setViewportSize({ width: 390, height: 780 });
    await chat.button('Conversations').click();
    await chat.button('Close the conversations').waitFor();
    await chat.page.keyboard.press('Escape');
    await chat.button('Close the conversations').waitFor({ state: 'detached' });
    expect(await chat.button('Stop').count()).toBe(1);
    await chat.page.keyboard.press('Escape');
    await chat.answered(1);
  });

  it('copies an answer', async () => {
    await chat.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await chat.ask('One');
    await chat.button('Copy').last().click();
    await chat.button('Copied').waitFor();
    expect(await chat.page.evaluate(() => navigator.clipboard.readText())).toBe('One, indeed.');
  });

  it('sends the system prompt and the settings', async () => {
    await chat.button('Settings').click();
    await chat.page.getByLabel('System prompt').fill('Be short.');
    await chat.page.getByLabel('Temperature').fill('0');
    await chat.page.getByLabel('Top p').fill('');
    await chat.page.getByLabel('Seed').fill('7');
    await chat.button('Close').click();
    await chat.ask('One');
    const body = JSON.parse(server.requests.findLast(({ path }) => path === '/v1/chat/completions')!.body);
    expect(body).toMatchObject({ temperature: 0, seed: 7, messages: [{ role: 'system', content: 'Be short.' }, {}] });
    expect(body).not.toHaveProperty('top_p');
  });

  it('says why there is no answer, and answers again when asked to', async () => {
    await chat.page.route('**/v1/chat/completions', (route) => route.abort());
    await chat.send('One');
    await chat.page.getByText('The server cannot be reached. Is it running?').waitFor();
    await chat.page.unroute('**/v1/chat/completions');
    await chat.button('Answer again').click();
    await expect.poll(() => chat.answers.allTextContents()).toEqual(['One, indeed.']);
  });

  it('plots what the server does', async () => {
    await chat.button('Statistics').click();
    const charts = chat.page.getByRole('img');
    await expect.poll(() => charts.count()).toBe(3);
    const line = charts.first().locator('polyline').first();
    await expect.poll(() => line.getAttribute('points')).toMatch(/ .+,/);
    expect(await charts.nth(2).getAttribute('aria-label')).toMatch(/^Cache: in use \d+ %, kept for later \d+ %$/);
    await chat.page.keyboard.press('Escape');
    expect(await charts.count()).toBe(0);
  });
});
