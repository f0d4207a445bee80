import { HearthError } from '@hearth/core';
import Database from 'better-sqlite3';
import { StoreAccessError, StoreBusyError, StoreDamagedError, StoreFullError } from '../errors.ts';

/** An error of SQLite as one of ours; others are bugs, and stay what they are. */
export function translateError(error: unknown, path: string): unknown {
  if (HearthError.isInstance(error) || !(error instanceof Database.SqliteError)) return error;
  const { code, message } = error;
  const is = (...names: string[]) => names.some((name) => code === name || code.startsWith(`${name}_`));
  if (is('SQLITE_FULL')) return new StoreFullError({ cause: error });
  if (is('SQLITE_BUSY', 'SQLITE_LOCKED')) return new StoreBusyError({ cause: error });
  if (is('SQLITE_CORRUPT', 'SQLITE_NOTADB')) return new StoreDamagedError(path, message, { cause: error });
  if (is('SQLITE_CANTOPEN', 'SQLITE_READONLY', 'SQLITE_IOERR', 'SQLITE_PERM', 'SQLITE_AUTH')) {
    return new StoreAccessError(path, message, { cause: error });
  }
  return error;
}
