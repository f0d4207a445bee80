import { HearthError } from '@hearth/core';

/** The session is generating or computing; one piece of work at a time. Wait for it, stop it, or use another session. */
export class SessionBusyError extends HearthError {
  constructor(what: string) {
    super(
      'session_busy',
      `This session is working and cannot ${what} now. Await the running call, stop it, or create another session.`,
      { details: { what } },
    );
  }
}

/** A session is never cut back below its anchor, the leading tokens that were fixed when it was made. */
export class AnchorError extends HearthError {
  readonly length: number;
  readonly anchor: number;

  constructor(length: number, anchor: number) {
    super(
      'below_anchor',
      `The session cannot be cut back to ${length} tokens: its first ${anchor} are its anchor. Create a new session instead.`,
      { details: { length, anchor } },
    );
    this.length = length;
    this.anchor = anchor;
  }
}

/** The deadline of a request (`timeoutMs`) has passed before its work was done. */
export class DeadlineError extends HearthError {
  constructor(timeoutMs: number) {
    super('deadline', `The request was not done within its ${timeoutMs} ms and was stopped.`, {
      details: { timeoutMs },
    });
  }
}

/** As many requests wait already as are allowed to. Nothing was begun: try again later. */
export class QueueFullError extends HearthError {
  constructor(numWaiting: number, maxQueued: number) {
    super(
      'queue_full',
      `${numWaiting} requests wait already, and maxQueued is ${maxQueued}. Try again later, or load the model with a larger maxQueued.`,
      { details: { numWaiting, maxQueued } },
    );
  }
}

/** The whole cache is too small for one sequence, even if it had all of it to itself. */
export class CacheExhaustedError extends HearthError {
  readonly numBlocksNeeded: number;
  readonly numBlocksFree: number;
  readonly numBlocks: number;

  constructor(numBlocksNeeded: number, numBlocksFree: number, numBlocks: number) {
    super(
      'cache_exhausted',
      `${numBlocksNeeded} cache blocks are needed, but only ${numBlocksFree} of ${numBlocks} are free. Load the model with a larger cacheTokens.`,
      { details: { numBlocksNeeded, numBlocksFree, numBlocks } },
    );
    this.numBlocksNeeded = numBlocksNeeded;
    this.numBlocksFree = numBlocksFree;
    this.numBlocks = numBlocks;
  }
}

/** What about a session file was found wrong. */
export type SessionFileCheck =
  | 'read'
  | 'write'
  | 'format'
  | 'version'
  | 'header'
  | 'numerics'
  | 'cache_dtype'
  | 'cache_layout'
  | 'model'
  | 'tokens'
  | 'size'
  | 'checksum';

/** A session file cannot be written, or is damaged, or belongs to another model or configuration. Nothing was loaded. */
export class SessionFileError extends HearthError {
  readonly path: string;
  readonly check: SessionFileCheck;

  /** @param problem says what was expected, what came and what to do */
  constructor(path: string, check: SessionFileCheck, problem: string, details: Record<string, unknown> = {}) {
    const { cause, ...values } = details;
    super('session_file', `Session file ${path}: ${problem}`, { details: { path, check, ...values }, cause });
    this.path = path;
    this.check = check;
  }
}
