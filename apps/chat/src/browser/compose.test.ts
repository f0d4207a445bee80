import type { Browser, CDPSession } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchBrowser, openPage } from './__fixtures__/browser.ts';
import { chatModel, hashOf } from './__fixtures__/chat-model.ts';
import { ChatPage } from './__fixtures__/open-chat.ts';
import { type PageServer, startPageServer } from './__fixtures__/page-server.ts';

/** Each letter of the prompt has a part in the answer. */
const model = chatModel('fake', (_, prompt) => `Number ${hashOf(prompt)}.`);
const read = /^(\d+) of (\d+) tokens read$/;

describe.skipIf(!chromiumPath)('reading while one types', () => {
  let browser: Browser;
  let server: PageServer;
  let chat: ChatPage;

  const drafts = () =>
    server.requests.filter(({ path }) => path === '/v1/compose').map(({ body }) => JSON.parse(body).draft as string);
  const untilRead = () => expect.poll(() => chat.page.locator('#reading').textContent()).toMatch(read);

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterAll(() => browser?.close());

  beforeEach(async () => {
    server = await startPageServer({ models: [model] });
    chat = new ChatPage((await openPage(browser, server.url)).page);
  });

  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    await server.close();
  });

  it('answers a message that was typed with errors and mended as one that was typed at once, and sooner', async () => {
    const { page, box } = chat;
    await chat.ask('Hello');
    await box.pressSequentially('Why is the skj');
    await untilRead();
    await box.press('Backspace');
    await box.pressSequentially('y bluee', { delay: 30 });
    await untilRead();
    await box.press('Backspace');
    await box.pressSequentially(', and what of teh sea?', { delay: 10 });
    await untilRead();
    for (let i = 0; i < 'eh sea?'.length; i++) await box.press('ArrowLeft');
    await box.press('Delete');
    await box.press('ArrowRight');
    await box.pressSequentially('e');
    await untilRead();
    const [, readTokens] = read.exec((await page.locator('#reading').textContent())!)!;
    expect(await box.inputValue()).toBe('Why is the sky blue, and what of the sea?');
    await box.press('Enter');
    await chat.answered(2);
    const [, cached, total] = / (\d+) of (\d+) read before$/.exec(
      (await page.locator('.stats').last().textContent())!,
    )!;
    // All that was read was there; what is left are the last word and the end of the message.
    expect(Number(cached)).toBe(Number(readTokens));
    expect(Number(total) - Number(cached)).toBeLessThan(40);
    expect(drafts().length).toBeGreaterThanOrEqual(4);

    const fresh = await startPageServer({ models: [model] });
    try {
      const other = new ChatPage((await openPage(browser, fresh.url)).page);
      await other.ask('Hello');
      const expected = await other.ask('Why is the sky blue, and what of the sea?');
      expect(await chat.answers.last().textContent()).toBe(expected);
    } finally {
      await fresh.close();
    }
  });

  it('has nothing read while keys follow each other, and once when they pause', async () => {
    await chat.box.pressSequentially('One two three', { delay: 20 });
    await untilRead();
    expect(drafts()).toEqual(['One two three']);
  });

  it('reads what was typed amid an answer once that is there', async () => {
    await chat.send('Hello');
    await chat.box.pressSequentially('And then');
    await chat.answered(1);
    await untilRead();
    const { messages, draft } = JSON.parse(server.requests.findLast(({ path }) => path === '/v1/compose')!.body);
    expect([messages.length, draft]).toEqual([2, 'And then']);
  });

  describe('with an input method', () => {
    let keyboard: CDPSession;

    beforeEach(async () => {
      keyboard = await chat.page.context().newCDPSession(chat.page);
      await chat.box.focus();
    });

    const compose = (text: string) =>
      keyboard.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    const wait = () => chat.page.waitForTimeout(400);

    it('reads nothing before the choice is made, and its Enter does not send', async () => {
      await compose('そ');
      await compose('そら');
      await wait();
      expect(drafts()).toEqual([]);
      // As browsers tell of the Enter that picks a candidate.
      await chat.box.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, isComposing: true, bubbles: true });
      expect(await chat.questions.count()).toBe(0);
      await keyboard.send('Input.insertText', { text: '空' });
      await untilRead();
      expect(drafts()).toEqual(['空']);
      // Safari ends the composition first; then the key comes.
      await chat.box.dispatchEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true });
      expect(await chat.questions.count()).toBe(0);
      expect(await chat.box.inputValue()).toBe('空');
      await chat.box.press('Enter');
      await chat.answered(1);
      expect(await chat.questions.allTextContents()).toEqual(['空']);
    });

    it('stops reading when a choice begins after it', async () => {
      await chat.box.pressSequentially('a ');
      await compose('そ');
      await wait();
      expect(drafts()).toEqual([]);
    });
  });
});
