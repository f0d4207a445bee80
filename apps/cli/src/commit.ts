import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The commit of the checkout that this program runs from; null when it was installed from a registry. */
export async function sourceCommit(from: string = fileURLToPath(import.meta.url)): Promise<string | null> {
  for (let directory = dirname(from); ; directory = dirname(directory)) {
    const head = await readText(join(directory, '.git', 'HEAD'));
    if (head !== undefined) return resolveHead(join(directory, '.git'), head);
    if (directory === dirname(directory)) return null;
  }
}

async function resolveHead(gitDirectory: string, head: string): Promise<string | null> {
  const reference = /^ref: (.+)$/.exec(head)?.[1];
  if (!reference) return head;
  const loose = await readText(join(gitDirectory, reference));
  if (loose) return loose;
  const packed = await readText(join(gitDirectory, 'packed-refs'));
  const line = packed?.split('\n').find((entry) => entry.endsWith(` ${reference}`));
  return line?.split(' ')[0] ?? null;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    return undefined;
  }
}
