import { readFile } from 'node:fs/promises';
import { UsageError } from '@hearth/command-line';

/**
 * The JSON object in a config file. What is in it is not looked at.
 * @throws UsageError when it cannot be read, or is no JSON object
 */
export async function readConfigFile(path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new UsageError(`The config file ${path} cannot be read: ${error.message}.`);
  });
  const value = parseJson(text, path);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`The config file ${path} must hold a JSON object, such as {"port": 8080}.`);
}

function parseJson(text: string, path: string): unknown {
  try {
    // Some editors begin a file with a byte order mark.
    return JSON.parse(text.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new UsageError(`The config file ${path} is no JSON: ${(error as Error).message}.`);
  }
}
