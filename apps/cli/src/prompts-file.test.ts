import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPrompts } from './prompts-file.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-prompts-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function read(text: string) {
  const path = join(directory, 'prompts.jsonl');
  await writeFile(path, text);
  return readPrompts(path);
}

it('reads a prompt from each line that is not blank', async () => {
  const text = '\uFEFF{"prompt": "a\\nb"}\r\n\n{"prompt": "c", "system": "d"}';
  expect(await read(text)).toEqual([{ prompt: 'a\nb' }, { prompt: 'c', system: 'd' }]);
});

it.each([
  ['', /There are no prompts in .*prompts\.jsonl/],
  ['{"prompt": "a"}\nb', /prompts\.jsonl, line 2: this is no JSON/],
  ['"a"', /line 1: expected an object such as/],
  ['null', /line 1: expected an object such as/],
  ['[]', /line 1: expected an object such as/],
  ['{}', /line 1: prompt must be a text/],
  ['{"prompt": ""}', /line 1: prompt must be a text/],
  ['{"prompt": "a", "system": 1}', /line 1: system must be a text/],
  ['{"prompt": "a", "max_tokens": 1}', /line 1: expected prompt and system, got "max_tokens"/],
])('refuses %j as a usage error', async (text, message) => {
  await expect(read(text)).rejects.toThrow(
    expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
  );
});

it('says why a file cannot be read', async () => {
  await expect(readPrompts(join(directory, 'none'))).rejects.toThrow(/--prompts .*none could not be read: ENOENT/);
  await expect(readPrompts(directory)).rejects.toThrow(/could not be read: EISDIR/);
});
