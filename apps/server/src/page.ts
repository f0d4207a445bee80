import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type PageHandler, readPageFiles } from '@hearth/server';

const require = createRequire(import.meta.url);

/** Where the files of the chat page are; undefined where it has not been built. */
export function pageDirectory(): string | undefined {
  const manifest = require.resolve('@hearth/chat-page/package.json');
  const directory = join(dirname(manifest), 'dist');
  return existsSync(join(directory, 'index.html')) ? directory : undefined;
}

/** The chat page; undefined where it has not been built. */
export async function readChatPage(): Promise<PageHandler | undefined> {
  const directory = pageDirectory();
  return directory === undefined ? undefined : readPageFiles(directory);
}
