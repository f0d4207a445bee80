import { createReadStream } from 'node:fs';
import { UsageError } from '@hearth/command-line';
import type { Prompt } from './encode-prompt.ts';
import { readPipedInput, readText } from './terminal/standard-input.ts';

/**
 * Reads prompts from JSON Lines: an object `{"prompt": "...", "system": "..."}` in each, `system` if wanted. Blank lines are
 * skipped.
 *
 * @param path `-` is standard input
 * @throws UsageError that names the line, or says why the file cannot be read
 */
export async function readPrompts(path: string): Promise<Prompt[]> {
  const text = path === '-' ? await readPipedInput() : await readFile(path);
  const prompts = text
    // Editors of some systems begin files with a byte order mark.
    .replace(/^\uFEFF/, '')
    .split('\n')
    .flatMap((line, i) => (line.trim() === '' ? [] : [parsePrompt(line, `${path}, line ${i + 1}`)]));
  if (prompts.length === 0) throw new UsageError(`There are no prompts in ${path}.`);
  return prompts;
}

async function readFile(path: string): Promise<string> {
  try {
    return await readText(createReadStream(path), path);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new UsageError(`--prompts ${path} could not be read: ${error.message}.`);
  }
}

function parsePrompt(line: string, where: string): Prompt {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new UsageError(`${where}: this is no JSON: ${(error as Error).message}.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new UsageError(`${where}: expected an object such as {"prompt": "..."}.`);
  }
  const { prompt, system, ...others } = value as Record<string, unknown>;
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined)
    throw new UsageError(`${where}: expected prompt and system, got ${JSON.stringify(unknown)}.`);
  if (typeof prompt !== 'string' || prompt === '')
    throw new UsageError(`${where}: prompt must be a text with something in it.`);
  if (system !== undefined && typeof system !== 'string') throw new UsageError(`${where}: system must be a text.`);
  return { prompt, system };
}
