import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openConversations } from './open-conversations.ts';

let directory: string;
let warnings: string[];
const logger = pino({ level: 'warn' }, { write: (line) => void warnings.push(JSON.parse(line).msg) });

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hearth-data-'));
  warnings = [];
});

afterEach(() => rmSync(directory, { recursive: true }));

it.each(['127.0.0.1', 'localhost', '::1'])(
  'are those of the user where only this machine reaches the server: %s',
  (host) => {
    const store = openConversations({ host, conversations: undefined }, logger, directory);
    store!.create();
    store!.close();
    expect(readdirSync(directory)).toEqual(['conversations.sqlite']);
  },
);

it.each(['0.0.0.0', '192.0.2.1', '::', 'models.example.com'])(
  'are not given to others unless they are named: %s',
  (host) => {
    expect(openConversations({ host, conversations: undefined }, logger, directory)).toBeUndefined();
    expect(readdirSync(directory)).toEqual([]);
    const named = join(directory, 'shared.sqlite');
    openConversations({ host, conversations: named }, logger, directory)!.close();
    expect(readdirSync(directory)).toEqual(['shared.sqlite']);
  },
);

it('are not kept when they are off', () => {
  expect(openConversations({ host: '127.0.0.1', conversations: 'off' }, logger, directory)).toBeUndefined();
  expect(readdirSync(directory)).toEqual([]);
});

it('end the start when the file that is named is none, and else only warn', () => {
  const path = join(directory, 'conversations.sqlite');
  writeFileSync(path, 'no database '.repeat(100));
  const damaged = expect.objectContaining({ code: 'store_damaged' });
  expect(() => openConversations({ host: '127.0.0.1', conversations: path }, logger, directory)).toThrow(damaged);
  expect(openConversations({ host: '127.0.0.1', conversations: undefined }, logger, directory)).toBeUndefined();
  expect(warnings).toEqual(['conversations are not kept']);
  expect(readFileSync(path, 'utf8')).toMatch(/^no database/);
});
