import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { loadModel, type Model } from '@hearth/engine';
import { promptLookup } from '@hearth/llm';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { tinyLlama } from './__fixtures__/run-cli.ts';
import { Conversation, type ConversationOptions } from './conversation.ts';

const backend = createReferenceBackend();
let model: Model;
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-conversation-'));
  // Without prefixes of other conversations, what is cached can only come from the file.
  const speculation = { proposers: [promptLookup()] };
  model = await loadModel(tinyLlama, { backend, contextLength: 512, prefixCache: false, speculation });
});
afterAll(async () => {
  await model.dispose();
  await backend.dispose();
  await rm(directory, { recursive: true });
});
afterEach(() => vi.restoreAllMocks());

/** What a conversation shows after each of these messages. */
function converse(...messages: string[]): Promise<string[]> {
  return converseTyping(messages, []);
}

const numComputed = () => model.stats().steps.prefillTokens + model.stats().steps.decodeTokens;

/** The same, with what is typed before each of the messages, in that order. */
async function converseTyping(
  messages: string[],
  typed: readonly (readonly string[])[],
  options: Partial<ConversationOptions> = {},
): Promise<string[]> {
  const turns = typed.values();
  const shown: string[] = [];
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    shown[shown.length - 1] += stripVTControlCharacters(String(text));
    return true;
  });
  const signal = new AbortController().signal;
  const conversation = new Conversation(model, { maxTokens: 12, temperature: 0, ...options }, signal);
  const next = async () => {
    if (messages.length > 0) shown.push('');
    for (const draft of turns.next().value ?? []) {
      const before = numComputed();
      conversation.typed(draft);
      if (options.compose === false) continue;
      await vi.waitFor(() => expect(numComputed()).toBeGreaterThan(before), 60_000);
      await vi.waitFor(() => expect(model.stats().requests.numRunning).toBe(0), 60_000);
    }
    // What comes right before Enter is not.
    conversation.typed('zzz ');
    return messages.shift();
  };
  await conversation.run({ next, close: () => {} });
  return shown;
}

/** The tokens of the last answer that were in the cache, as /stats tells them. */
const cachedTokens = (stats: string) => Number(/, (\d+) of them cached/.exec(stats)?.[1]);

it('goes on with a saved conversation as if it had never stopped, computing nothing again', async () => {
  const file = join(directory, 'a chat');
  const [first, firstStats, second] = await converse('abc', '/stats', 'def');
  expect(firstStats).toMatch(/^prompt \d+ tokens, 0 of them cached .*; \d+ of \d+ guesses were right\n$/);
  const [sameFirst, saved] = await converse('abc', `/save ${file}`);
  expect(sameFirst).toBe(first);
  expect(saved).toBe('Saved.\n');
  const [loaded, sameSecond, stats] = await converse(`/load ${file}`, 'def', '/stats');
  expect(loaded).toBe('A conversation of 2 messages.\n');
  expect(sameSecond).toBe(second);
  expect(cachedTokens(stats!)).toBeGreaterThan(16);
  expect(JSON.parse(await readFile(file, 'utf8')).messages[0]).toEqual({ role: 'user', content: 'abc' });
});

it('computes again what cannot be used of a saved conversation, and says why', async () => {
  const file = join(directory, 'alone');
  const [, , second] = await converse('abc', `/save ${file}`, 'def');
  await copyFile(file, `${file}.session`);
  const [loaded, sameSecond] = await converse(`/load ${file}`, 'def');
  expect(loaded).toMatch(
    /^A conversation of 2 messages\.\nThe next answer computes it anew\. Session file .*alone\.session: /,
  );
  expect(sameSecond).toBe(second);
});

it('stays as it is when a file cannot be written or holds no conversation', async () => {
  const file = join(directory, 'broken');
  await writeFile(file, '{"messages": [{"role": "user"}]}');
  const [first, missing, broken, unwritable, second] = await converse(
    'abc',
    `/load ${join(directory, 'none')}`,
    `/load ${file}`,
    `/save ${join(directory, 'none', 'chat')}`,
    'def',
  );
  expect(missing).toMatch(/none: it could not be read: ENOENT/);
  expect(broken).toMatch(/broken: expected \{"messages": \[\.\.\.\]\}/);
  expect(unwritable).toMatch(/chat: it could not be written: ENOENT/);
  expect([first, second]).toEqual(await converse('abc', 'def'));
});

it('computes a message while it is typed, and answers the same', async () => {
  const messages = ['abc def', 'ghi', '/stats'];
  const typed = [
    ['abd x', 'abc x'],
    ['a b', 'ghi '],
  ];
  const [first, second, stats] = await converse(...messages);
  const [typedFirst, typedSecond, typedStats] = await converseTyping(messages.slice(), typed);
  expect([typedFirst, typedSecond]).toEqual([first, second]);
  expect(cachedTokens(typedStats!)).toBeGreaterThan(cachedTokens(stats!));
  const off = await converseTyping(messages.slice(), typed, { compose: false });
  expect(cachedTokens(off[2]!)).toBe(cachedTokens(stats!));
});

it('explains its commands, also when one lacks its file', async () => {
  const [help, incomplete, unknown] = await converse('/help', '/save', '/dance');
  expect(help).toMatch(/^\/help .*\n(.*\n)*\/save FILE/);
  expect(incomplete).toBe(`There is no command /save.\n${help}`);
  expect(unknown).toBe(`There is no command /dance.\n${help}`);
});
