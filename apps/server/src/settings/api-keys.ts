import { readFile } from 'node:fs/promises';
import { UsageError } from '@hearth/command-line';
import { flagOf } from './setting-names.ts';

const variable = 'HEARTH_API_KEYS';

/**
 * The keys of a file, one a line, and those of the environment, between commas. Empty only where neither is given: what names
 * keys and holds none would leave the server open.
 *
 * @param path of the file; blank lines and those that begin with # are no keys
 * @throws UsageError when the file cannot be read, holds no key, or a key could not stand in a header
 */
export async function readApiKeys(path: string | undefined, environment = process.env): Promise<string[]> {
  const fromFile = path === undefined ? [] : await readKeyFile(path);
  const text = environment[variable] ?? '';
  const fromEnvironment = text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  if (text !== '' && fromEnvironment.length === 0) throw new UsageError(`${variable} holds no key.`);
  for (const key of [...fromFile, ...fromEnvironment]) {
    // Not printed: it may be nearly right.
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new UsageError('An API key holds blanks or characters outside ASCII, which no header can carry.');
    }
  }
  return [...new Set([...fromFile, ...fromEnvironment])];
}

async function readKeyFile(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`The API keys of ${flagOf('apiKeyFile')} cannot be read: ${error.message}.`);
  });
  const keys = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new UsageError(`${path} holds no API key. Write one a line.`);
  return keys;
}
