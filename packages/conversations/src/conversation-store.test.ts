import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ConversationStore, conversationLimits, type NewMessage, openConversationStore } from './index.ts';

let directory: string;
let path: string;
let store: ConversationStore;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hearth-conversations-'));
  path = join(directory, 'conversations.sqlite');
  store = openConversationStore(path);
});

afterEach(() => {
  store.close();
  rmSync(directory, { recursive: true });
});

function reopen(): void {
  store.close();
  store = openConversationStore(path);
}

const user = (content: string): NewMessage => ({ role: 'user', content });
const assistant = (content: string): NewMessage => ({ role: 'assistant', content });
const textsOf = (id: string) => store.get(id).messages.map(({ content }) => content);

describe('a conversation', () => {
  it('is after a restart what it was before, in every field', () => {
    const answer: NewMessage = {
      role: 'assistant',
      content: 'Four.',
      reasoning: 'Two and two.',
      tool: [{ id: 'call_1', arguments: { a: [1, null, 1.5] } }],
      stats: { completion_tokens: 2 },
    };
    const created = store.create({
      title: 'Sums',
      model: 'smollm2',
      systemPrompt: 'Be short.',
      settings: { temperature: 0, stop: ['\n'] },
      messages: [user('2 + 2?'), answer],
    });
    expect(created).toMatchObject({
      title: 'Sums',
      model: 'smollm2',
      systemPrompt: 'Be short.',
      messages: [{}, answer],
    });
    reopen();
    expect(store.get(created.id)).toEqual(created);
    expect(store.list().conversations).toMatchObject([{ id: created.id, title: 'Sums', model: 'smollm2' }]);
  });

  it('is empty when nothing is said about it', () => {
    const { id } = store.create();
    const empty = { title: '', model: null, systemPrompt: '', settings: {}, messages: [] };
    expect(store.get(id)).toMatchObject(empty);
    expect(id).toMatch(/^conv_[0-9a-f]{30}$/);
  });

  it('keeps every text to the character', () => {
    const { id } = store.create();
    const texts = fc.string({ unit: 'binary', maxLength: 200 });
    fc.assert(
      fc.property(texts, texts, (content, title) => {
        store.update(id, { title });
        store.replaceFrom(id, 0, [user(content)]);
        expect(store.get(id)).toMatchObject({ title, messages: [{ content }] });
      }),
    );
  });

  it('is changed in the fields that are given, and no others', () => {
    const settings = { temperature: 0.5 };
    const { id } = store.create({ title: 'A', model: 'm', systemPrompt: 'S', settings, messages: [user('hi')] });
    store.update(id, {});
    store.update(id, { title: '' });
    expect(store.get(id)).toMatchObject({ title: '', model: 'm', systemPrompt: 'S', settings });
    expect(store.update(id, { model: null, settings: {} })).toMatchObject({ id, model: null });
    expect(store.get(id)).toMatchObject({ title: '', model: null, systemPrompt: 'S', settings: {}, messages: [{}] });
  });

  it('takes messages at its end, and others from a place on', () => {
    const { id } = store.create({ messages: [user('a')] });
    const appended = store.appendMessage(id, assistant('b'), { index: 1 });
    store.appendMessage(id, user('c'));
    expect(store.get(id).messages[1]).toEqual(appended);
    expect(store.replaceFrom(id, 1, [assistant('x'), user('y'), assistant('z')])).toHaveLength(3);
    expect(textsOf(id)).toEqual(['a', 'x', 'y', 'z']);
    expect(store.replaceFrom(id, 4, [user('end')])).toMatchObject([{ content: 'end' }]);
    store.replaceFrom(id, 2, []);
    expect(textsOf(id)).toEqual(['a', 'x']);
  });

  it('takes no message for a place that is another by now', () => {
    const { id } = store.create({ messages: [user('a'), assistant('b')] });
    for (const index of [0, 1, 3]) {
      expect(() => store.appendMessage(id, user('c'), { index })).toThrow(/has 2 messages, so message \d cannot/);
    }
    expect(() => store.replaceFrom(id, 3, [user('c')])).toThrow(
      expect.objectContaining({ code: 'conversation_conflict' }),
    );
    expect(textsOf(id)).toEqual(['a', 'b']);
  });

  it('is gone when it was deleted, with its messages, and leaves others alone', () => {
    const [first, second] = [store.create({ messages: [user('one')] }), store.create({ messages: [user('two')] })];
    store.delete(first.id);
    const notFound = expect.objectContaining({ code: 'conversation_not_found' });
    expect(() => store.get(first.id)).toThrow(notFound);
    expect(() => store.delete(first.id)).toThrow(notFound);
    expect(() => store.update(first.id, { title: 'x' })).toThrow(notFound);
    expect(() => store.appendMessage(first.id, user('x'))).toThrow(notFound);
    expect(() => store.replaceFrom(first.id, 0, [])).toThrow(notFound);
    expect(store.list().conversations).toMatchObject([{ id: second.id }]);
    expect(textsOf(second.id)).toEqual(['two']);
  });

  it.each(["'; DROP TABLE messages; --", '" OR 1=1 --', '%', '_', '\\', '$id', '@title', ':a', '?1'])(
    'takes %j for a text and nothing else',
    async (text) => {
      const { id } = store.create({ title: text, model: text, systemPrompt: text, settings: { [text]: text } });
      store.appendMessage(id, { role: 'user', content: text, reasoning: text, tool: text, stats: { [text]: text } });
      store.update(id, { title: text, model: text });
      const other = store.create({ title: 'other', messages: [user('other')] });
      expect(() => store.get(text)).toThrow(expect.objectContaining({ code: 'conversation_not_found' }));
      expect(() => store.delete(text)).toThrow(expect.objectContaining({ code: 'conversation_not_found' }));
      expect(() => store.list({ before: text })).toThrow(/before must be what a page gave/);
      expect((await store.search(text)).conversations.map(({ id }) => id)).toEqual([id]);
      expect(store.get(id)).toMatchObject({ title: text, messages: [{ content: text, reasoning: text, tool: text }] });
      expect(textsOf(other.id)).toEqual(['other']);
    },
  );
});

describe('limits', () => {
  const { content, messages, allMessages } = conversationLimits;
  const tooLarge = expect.objectContaining({ code: 'conversation_too_large' });

  it('hold for each text', () => {
    const { id } = store.create();
    store.appendMessage(id, user('x'.repeat(content)));
    expect(() => store.appendMessage(id, user('x'.repeat(content + 1)))).toThrow(tooLarge);
    for (const name of ['title', 'model', 'systemPrompt'] as const) {
      expect(() => store.update(id, { [name]: 'x'.repeat(conversationLimits[name] + 1) })).toThrow(tooLarge);
    }
    expect(() => store.update(id, { settings: { a: 'x'.repeat(conversationLimits.settings) } })).toThrow(tooLarge);
    expect(store.get(id)).toMatchObject({ title: '', model: null, systemPrompt: '', settings: {}, messages: [{}] });
  });

  it('hold for all messages together, and what is too much changes nothing', () => {
    const { id } = store.create({ messages: Array.from({ length: messages }, () => user('a')) });
    expect(() => store.appendMessage(id, user('b'))).toThrow(tooLarge);
    const large = Array.from({ length: allMessages / content + 1 }, () => user('x'.repeat(content)));
    expect(() => store.replaceFrom(id, 0, large)).toThrow(tooLarge);
    expect(textsOf(id)).toEqual(Array(messages).fill('a'));
    expect(() => store.create({ messages: large })).toThrow(tooLarge);
    expect(store.list().conversations).toHaveLength(1);
  });

  it('refuse what is no value of its field', () => {
    const { id } = store.create();
    const invalid = expect.objectContaining({ code: 'invalid_argument' });
    expect(() => store.appendMessage(id, { role: 'robot' as never, content: '' })).toThrow(invalid);
    expect(() => store.appendMessage(id, { role: 'user', content: 1 as never })).toThrow(invalid);
    expect(() => store.appendMessage(id, { ...user(''), tool: 1n as never })).toThrow(invalid);
    expect(() => store.replaceFrom(id, -1, [])).toThrow(invalid);
    expect(() => store.list({ limit: 0 })).toThrow(invalid);
    expect(() => store.list({ limit: 101 })).toThrow(invalid);
  });
});

describe('the list', () => {
  it('gives 10,000 conversations page by page, each once, the last changed first', () => {
    store.close();
    store = openConversationStore(':memory:');
    const ids = Array.from({ length: 10_000 }, (_, index) => store.create({ title: `${index}` }).id);
    const seen: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = store.list({ limit: 100, before });
      expect(page.conversations.length).toBeLessThanOrEqual(100);
      seen.push(...page.conversations.map(({ id }) => id));
      before = page.next;
      if (before === undefined) break;
    }
    expect(seen).toEqual(ids.reverse());
    store.appendMessage(ids[5000]!, user('hi'));
    expect(store.list({ limit: 1 }).conversations).toMatchObject([{ id: ids[5000] }]);
    store.update(ids[7000]!, { title: 'x' });
    expect(store.list({ limit: 1 }).conversations).toMatchObject([{ id: ids[7000] }]);
  });
});

describe('search', () => {
  it('finds texts in titles and messages, in whatever case and language', async () => {
    const of = (title: string, content: string) =>
      store.create({ title, messages: [user('x'), assistant(content)] }).id;
    const weather = of('Weather', 'It is 100% sunny in Zürich.');
    const chinese = of('天气', '今天天气很好');
    const russian = of('', 'Привет, мир');
    const found = async (text: string) => (await store.search(text)).conversations.map(({ id }) => id);
    expect(await found('WEATHER')).toEqual([weather]);
    expect(await found('sUnNy')).toEqual([weather]);
    expect(await found('ZÜRICH')).toEqual([weather]);
    expect(await found('0% s')).toEqual([weather]);
    expect(await found('天气')).toEqual([chinese]);
    expect(await found('привет')).toEqual([russian]);
    expect(await found('МИР')).toEqual([russian]);
    expect(await found('x')).toEqual([russian, chinese, weather]);
    expect(await found('nowhere')).toEqual([]);
  });

  it('gives pages, too', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => store.create({ title: index % 2 ? 'odd' : 'even' }).id);
    const first = await store.search('odd', { limit: 100 });
    const second = await store.search('odd', { limit: 100, before: first.next });
    expect(second.next).toBeUndefined();
    const found = [...first.conversations, ...second.conversations].map(({ id }) => id);
    expect(found).toEqual(ids.filter((_, index) => index % 2).reverse());
  });

  it('lets others have their turn, and can be stopped', async () => {
    const messages = [user('x'.repeat(conversationLimits.content))];
    for (let index = 0; index < 30; index++) store.create({ messages });
    const stop = new AbortController();
    const searching = store.search('nowhere', { signal: stop.signal });
    await setImmediate();
    stop.abort();
    await expect(searching).rejects.toMatchObject({ code: 'aborted' });
  });

  it('goes on after others, so that many take no more of the thread than one', async () => {
    for (let index = 0; index < 30; index++) store.create({ messages: [user('x'.repeat(conversationLimits.content))] });
    store.create({ title: 'there' });
    const ended: string[] = [];
    const searches = ['nowhere', 'there', 'nowhere', 'there'].map(async (text, index) => {
      const signal = index === 2 ? AbortSignal.abort() : undefined;
      const { conversations } = await store.search(text, { limit: 1, signal });
      ended.push(`${text} ${index}: ${conversations.length}`);
    });
    await expect(searches[2]).rejects.toMatchObject({ code: 'aborted' });
    await Promise.allSettled(searches);
    expect(ended).toEqual(['nowhere 0: 0', 'there 1: 1', 'there 3: 1']);
  });

  it.each(['', 'x'.repeat(201), 'a\0b'])('refuses a text of no use', async (text) => {
    await expect(store.search(text)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('ends with an error when the store is closed meanwhile', async () => {
    for (let index = 0; index < 30; index++) store.create({ messages: [user('x'.repeat(conversationLimits.content))] });
    const searching = store.search('nowhere');
    store.close();
    await expect(searching).rejects.toMatchObject({ code: 'disposed' });
  });
});

it('says so once it is closed', () => {
  store.close();
  store.close();
  expect(() => store.list()).toThrow(expect.objectContaining({ code: 'disposed' }));
  expect(() => store.create()).toThrow(expect.objectContaining({ code: 'disposed' }));
});
