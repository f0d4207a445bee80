import { join } from 'node:path';
import { type ConversationStore, openConversationStore } from '@hearth/conversations';
import { HearthError } from '@hearth/core';
import type { Logger } from 'pino';
import { isLoopback } from '../http/is-loopback.ts';
import type { Settings } from '../settings/settings.ts';
import { dataDirectory } from './data-directory.ts';

/**
 * Opens the conversations that the settings name. Where they name none, those of the user, if nobody else can reach the
 * server; that these cannot be opened is no reason not to serve.
 *
 * @throws StoreAccessError | StoreDamagedError | StoreVersionError | StoreFullError | StoreBusyError of a file that is named
 */
export function openConversations(
  { conversations, host }: Pick<Settings, 'conversations' | 'host'>,
  logger: Logger,
  directory = dataDirectory(),
): ConversationStore | undefined {
  if (conversations === 'off') return undefined;
  if (conversations !== undefined) return openConversationStore(conversations);
  if (!isLoopback(host)) return undefined;
  try {
    return openConversationStore(join(directory, 'conversations.sqlite'));
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error;
    logger.warn({ err: error }, 'conversations are not kept');
    return undefined;
  }
}
