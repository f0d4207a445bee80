import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The commit of the checkout that this program runs from; null when it was installed from a registry. */
export async function sourceCommit(from: string = fileURLToPath(import.meta.url)): Promise<string | null> {
  for (let directory = dirname(from); ; directory = dirname(directory)) {
    const git = await gitDirectory(directory);
    const head = await readText(join(git, 'HEAD'));
    if (head !== undefined) return resolveHead(git, head);
    if (directory === dirname(directory)) return null;
  }
}

/** In a linked worktree `.git` is a file that names the directory. */
async function gitDirectory(checkout: string): Promise<string> {
  const path = join(checkout, '.git');
  const linked = /^gitdir: (.+)$/.exec((await readText(path)) ?? '')?.[1];
  return linked ? resolve(checkout, linked) : path;
}

async function resolveHead(git: string, head: string): Promise<string | null> {
  const reference = /^ref: (.+)$/.exec(head)?.[1];
  if (!reference) return head;
  // A linked worktree has a HEAD of its own; branches are with the main one.
  const common = resolve(git, (await readText(join(git, 'commondir'))) ?? '.');
  const loose = await readText(join(common, reference));
  if (loose) return loose;
  const packed = await readText(join(common, 'packed-refs'));
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
