import { HearthError, type HearthErrorOptions } from '@hearth/core';

/** There is no conversation of this id; it may have been deleted. */
export class ConversationNotFoundError extends HearthError {
  constructor(id: string) {
    super('conversation_not_found', `There is no conversation ${JSON.stringify(id.slice(0, 200))}.`, {
      details: { id },
    });
  }
}

/** The messages are not those that the caller has seen: something else has changed the conversation meanwhile. */
export class ConversationConflictError extends HearthError {
  constructor(index: number, numMessages: number) {
    super(
      'conversation_conflict',
      `The conversation has ${numMessages} messages, so message ${index} cannot be written. Read it again first.`,
      { details: { index, numMessages } },
    );
  }
}

/** A conversation or a part of one is larger than the store takes. */
export class ConversationTooLargeError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('conversation_too_large', message, options);
  }
}

/** The disk is full, or the file has reached the size that it may have. Nothing was changed. */
export class StoreFullError extends HearthError {
  constructor(options?: HearthErrorOptions) {
    super(
      'store_full',
      'There is no more room for conversations: the disk is full, or their file has reached its limit. Delete some.',
      options,
    );
  }
}

/** Another process has been writing for too long. Nothing was changed. */
export class StoreBusyError extends HearthError {
  constructor(options?: HearthErrorOptions) {
    super('store_busy', 'The file of the conversations is in use by another process. Try again later.', options);
  }
}

/** The file cannot be opened, read or written. `details` names it. */
export class StoreAccessError extends HearthError {
  constructor(path: string, reason: string, options?: HearthErrorOptions) {
    super('store_access', `The file of the conversations, ${path}, cannot be used: ${reason}.`, {
      ...options,
      details: { path },
    });
  }
}

/** The file is no database, or a damaged one. It is left as it is. `details` names it. */
export class StoreDamagedError extends HearthError {
  constructor(path: string, reason: string, options?: HearthErrorOptions) {
    super(
      'store_damaged',
      `The file of the conversations, ${path}, is damaged: ${reason}. Move it away to begin anew, or bring a copy back.`,
      { ...options, details: { path } },
    );
  }
}

/** The file was written by another program, or by a newer version of this one. It is left as it is. `details` names it. */
export class StoreVersionError extends HearthError {
  constructor(path: string, reason: string, details?: Readonly<Record<string, unknown>>) {
    super('store_version', `The file of the conversations, ${path}, ${reason}.`, { details: { path, ...details } });
  }
}
