import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { StoreAccessError, StoreDamagedError, StoreVersionError } from '../errors.ts';
import { migrations } from './migrations.ts';
import { translateError } from './translate-error.ts';

/** In the header of each file: "Hrth". */
const applicationId = 0x48727468;
const pageBytes = 4096;

/** A second process that begins at the same moment has the file for as long as its migrations take. */
const openingTimeoutMs = 5000;
/** SQLite waits on the thread that asked. Writers have a file for a few milliseconds. */
const busyTimeoutMs = 250;

export interface OpenDatabaseOptions {
  /** Most bytes of the file. */
  readonly maxBytes: number;
}

/**
 * Opens a file, makes it if it is not there, and brings it to the newest version. A file that is not ours, newer or damaged is
 * left as it is.
 *
 * @param path or `:memory:`
 * @throws StoreAccessError | StoreDamagedError | StoreVersionError | StoreFullError | StoreBusyError
 */
export function openDatabase(path: string, { maxBytes }: OpenDatabaseOptions): Database.Database {
  if (path !== ':memory:') prepareFile(path);
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { timeout: openingTimeoutMs });
    checkFile(database, path);
    setUp(database, maxBytes);
    migrate(database, path);
    database.pragma(`busy_timeout = ${busyTimeoutMs}`);
    return database;
  } catch (error) {
    database?.close();
    throw translateError(error, path);
  }
}

/** SQLite would make the file readable for everybody; what stands beside it gets the rights of the file. */
function prepareFile(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const found = statSync(path, { throwIfNoEntry: false });
    if (found && !found.isFile()) throw new Error('it is no regular file');
    if (!found) closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    throw new StoreAccessError(path, (error as Error).message, { cause: error });
  }
}

function checkFile(database: Database.Database, path: string): void {
  const numTables = database.prepare('SELECT count(*) FROM sqlite_schema').pluck().get();
  if (numTables === 0) return;
  if (database.pragma('application_id', { simple: true }) !== applicationId) {
    throw new StoreVersionError(path, 'is the database of another program. Name another file');
  }
  checkVersion(database, path);
  const [problem] = database.pragma('quick_check(1)') as { quick_check: string }[];
  if (problem?.quick_check !== 'ok') throw new StoreDamagedError(path, problem?.quick_check ?? 'it cannot be checked');
}

function setUp(database: Database.Database, maxBytes: number): void {
  database.pragma(`page_size = ${pageBytes}`);
  // Readers and the writer do not wait for each other, and a commit is an append.
  database.pragma('journal_mode = WAL');
  // A loss of power may take the last commits, but leaves the file whole.
  database.pragma('synchronous = NORMAL');
  database.pragma('foreign_keys = ON');
  // What was deleted is overwritten.
  database.pragma('secure_delete = ON');
  database.pragma(`max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
}

function migrate(database: Database.Database, path: string): void {
  database
    .transaction(() => {
      // Another process may have done it while we waited.
      for (let version = checkVersion(database, path); version < migrations.length; version++) {
        database.exec(migrations[version]!);
      }
      database.pragma(`application_id = ${applicationId}`);
      database.pragma(`user_version = ${migrations.length}`);
    })
    .immediate();
}

/** @throws StoreVersionError for a newer one */
function checkVersion(database: Database.Database, path: string): number {
  const version = Number(database.pragma('user_version', { simple: true }));
  if (version <= migrations.length) return version;
  throw new StoreVersionError(
    path,
    `is of version ${version}, but this version of Hearth knows ${migrations.length} at most. Update Hearth, or name another file`,
    { version, newestKnown: migrations.length },
  );
}
