import { HearthError, type HearthErrorOptions } from '@hearth/core';

/** No model answers to this name, path or repository id. The message says where was looked and what is there instead. */
export class ModelNotFoundError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('model_not_found', message, options);
  }
}

/** The repository is private or gated, or the token is refused. */
export class AccessDeniedError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('access_denied', message, options);
  }
}

/** What a `DownloadError` knows besides its message. */
export interface DownloadErrorOptions extends HearthErrorOptions {
  /** The same request may succeed when it is repeated (a cut connection, a busy server). */
  transient?: boolean;
  /** No connection came about at all: host unknown, refused, or silent. */
  unreachable?: boolean;
}

/** A server could not be reached, answered with an error, or sent something else than the file. */
export class DownloadError extends HearthError {
  readonly transient: boolean;
  readonly unreachable: boolean;

  constructor(message: string, options: DownloadErrorOptions = {}) {
    super('download_failed', message, options);
    this.transient = options.transient ?? false;
    this.unreachable = options.unreachable ?? false;
  }
}

/** The bytes are not those that were asked for. They never reach the final file name. */
export class ChecksumError extends HearthError {
  readonly expected: string;
  readonly actual: string;

  constructor(what: string, expected: string, actual: string, advice: string) {
    super('checksum_mismatch', `${what}: expected ${expected}, got ${actual}. ${advice}`, {
      details: { expected, actual },
    });
    this.expected = expected;
    this.actual = actual;
  }
}

/** The network is switched off and the model is not cached. */
export class OfflineError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('offline', message, options);
  }
}

/** The disk has no room for the file. Nothing was cut short: what was there before is untouched. */
export class DiskFullError extends HearthError {
  readonly neededBytes: number;
  readonly freeBytes: number;

  constructor(directory: string, neededBytes: number, freeBytes: number, options: HearthErrorOptions = {}) {
    super(
      'disk_full',
      `${directory} has ${freeBytes} bytes free, but ${neededBytes} more are needed. ` +
        'Free some space, remove models that are not needed, or set HEARTH_CACHE to a directory on another disk.',
      { ...options, details: { directory, neededBytes, freeBytes } },
    );
    this.neededBytes = neededBytes;
    this.freeBytes = freeBytes;
  }
}

/** The cache directory cannot be written to. */
export class CacheError extends HearthError {
  constructor(directory: string, cause: NodeJS.ErrnoException) {
    super(
      'cache_unusable',
      `The model cache ${directory} cannot be written (${cause.code ?? cause.message}). Set HEARTH_CACHE to a directory that can.`,
      { cause, details: { directory } },
    );
  }
}
