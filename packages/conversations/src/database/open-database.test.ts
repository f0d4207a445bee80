import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openConversationStore } from '../index.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hearth-store-'));
  path = join(directory, 'conversations.sqlite');
});

afterEach(() => rmSync(directory, { recursive: true }));

const message = (content: string) => ({ role: 'user' as const, content });

/** A file with some conversations in it. */
function makeFile(): void {
  const store = openConversationStore(path);
  for (let index = 0; index < 20; index++)
    store.create({ title: `${index}`, messages: [message('text '.repeat(2000))] });
  store.close();
}

/** Opening must fail like this, and leave every byte as it was. */
function expectRefusal(code: string, sentence: RegExp): void {
  const before = readFileSync(path);
  const refusal = expect.objectContaining({ code, message: expect.stringMatching(sentence) });
  expect(() => openConversationStore(path)).toThrow(refusal);
  expect(readFileSync(path).equals(before)).toBe(true);
}

describe('the file', () => {
  it('is made with its directories, for its owner only', () => {
    path = join(directory, 'a', 'b', 'conversations.sqlite');
    const store = openConversationStore(path);
    store.create();
    for (const name of readdirSync(join(directory, 'a', 'b'))) {
      expect([name, statSync(join(directory, 'a', 'b', name)).mode & 0o077]).toEqual([name, 0]);
    }
    store.close();
    expect(readdirSync(join(directory, 'a', 'b'))).toEqual(['conversations.sqlite']);
  });

  it('holds nothing any more of what was deleted', () => {
    const store = openConversationStore(path);
    const { id } = store.create({ title: 'PLAIN TITLE', messages: [message('SECRET '.repeat(5000))] });
    store.create({ messages: [message('KEPT '.repeat(5000))] });
    store.delete(id);
    store.close();
    const bytes = readFileSync(path);
    expect(bytes.includes('KEPT')).toBe(true);
    expect(bytes.includes('SECRET')).toBe(false);
    expect(bytes.includes('PLAIN TITLE')).toBe(false);
  });

  it('is whole after a process that was killed while writing', async () => {
    const child = fork(new URL('../__fixtures__/write-without-end.ts', import.meta.url), [path], {
      execArgv: ['--conditions=@hearth/source', '--import', 'tsx'],
    });
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const store = openConversationStore(path);
    const { conversations } = store.list();
    expect(conversations.length).toBeGreaterThan(0);
    for (const { id } of conversations) expect(store.get(id).messages).toHaveLength(3);
    store.close();
  });
});

describe('a file that is not to be used', () => {
  it('is one of another program', () => {
    const other = new Database(path);
    other.exec('CREATE TABLE notes (text)');
    other.close();
    expectRefusal('store_version', /is the database of another program/);
  });

  it('is one of a newer version', () => {
    makeFile();
    const newer = new Database(path);
    newer.pragma('user_version = 99');
    newer.pragma('wal_checkpoint(TRUNCATE)');
    newer.close();
    expectRefusal('store_version', /is of version 99, but .* knows \d+ at most/);
  });

  it('is no database', () => {
    writeFileSync(path, 'Dear diary, '.repeat(1000));
    expectRefusal('store_damaged', /is damaged: file is not a database/);
  });

  it('is cut off', () => {
    makeFile();
    truncateSync(path, Math.floor(statSync(path).size / 2 / 4096) * 4096);
    expectRefusal('store_damaged', /is damaged/);
  });

  it('is damaged in the middle', () => {
    makeFile();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 2 * 4096, 5 * 4096);
    writeFileSync(path, bytes);
    expectRefusal('store_damaged', /is damaged/);
  });

  it('is a directory, or in a place where none can be made', () => {
    expect(() => openConversationStore(directory)).toThrow(/cannot be used: it is no regular file/);
    writeFileSync(path, '');
    expect(() => openConversationStore(join(path, 'x'))).toThrow(expect.objectContaining({ code: 'store_access' }));
  });
});

describe('a full disk', () => {
  it('refuses what is new, keeps what is there, and takes more when something was deleted', () => {
    const store = openConversationStore(path, { maxBytes: 256 * 1024 });
    const ids: string[] = [];
    const full = expect.objectContaining({ code: 'store_full' });
    const fill = () => {
      for (;;) ids.push(store.create({ messages: [message('x'.repeat(10_000))] }).id);
    };
    expect(fill).toThrow(full);
    const [first = '', second = ''] = ids;
    expect(() => store.replaceFrom(first, 0, [message('y'.repeat(100_000))])).toThrow(full);
    for (const id of ids) expect(store.get(id).messages).toMatchObject([{ content: 'x'.repeat(10_000) }]);
    expect(store.list({ limit: 100 }).conversations).toHaveLength(ids.length);
    store.delete(second);
    store.create({ messages: [message('z'.repeat(9000))] });
    store.close();
    expect(statSync(path).size).toBeLessThanOrEqual(256 * 1024);
  });
});

describe('several processes', () => {
  it('open a new file at the same moment, and lose nothing that another writes', async () => {
    const children = Array.from({ length: 3 }, (_, index) =>
      fork(new URL('../__fixtures__/write-many.ts', import.meta.url), [path, `${index}`, '50'], {
        execArgv: ['--conditions=@hearth/source', '--import', 'tsx'],
      }),
    );
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual([0, 0, 0]);
    const store = openConversationStore(path);
    const titles: string[] = [];
    for (let before: string | undefined; ; ) {
      const page = store.list({ before });
      titles.push(...page.conversations.map(({ title }) => title));
      before = page.next;
      if (before === undefined) break;
    }
    store.close();
    const expected = [0, 1, 2].flatMap((writer) => Array.from({ length: 50 }, (_, index) => `${writer} ${index}`));
    expect(titles.sort()).toEqual(expected.sort());
  });

  it('say so when another holds the file for too long', () => {
    const store = openConversationStore(path);
    const { id } = store.create({ title: 'before' });
    const other = new Database(path);
    other.exec('BEGIN IMMEDIATE');
    expect(() => store.create()).toThrow(expect.objectContaining({ code: 'store_busy' }));
    // Reading goes on.
    expect(store.get(id)).toMatchObject({ title: 'before' });
    other.exec('COMMIT');
    other.close();
    expect(store.create()).toMatchObject({ title: '' });
    store.close();
  });
});
