import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbortError, throwIfAborted } from '@hearth/core';
import { DownloadError } from './errors.ts';

/** The holder touches its lock this often ... */
const HEARTBEAT_MS = 5_000;
/** ... and a lock that was not touched for this long belongs to nobody any more (six missed beats). */
const STALE_MS = 30_000;
/** How often a waiting process looks again. */
const POLL_MS = 200;

interface LockOwner {
  token: string;
  pid: number;
  host: string;
}

/**
 * Runs `work` while holding a lock file, so that two processes never write the same model at once. Waits for another
 * holder; takes over a lock whose process is gone (same host) or that was not touched for 30 s (killed container, another
 * host on a shared disk).
 *
 * `work` gets a signal that fires when the caller aborts or when the lock was lost (a machine that slept): it must stop.
 */
export async function withFileLock<T>(
  lockPath: string,
  options: { signal?: AbortSignal | undefined; onWait?: (() => void) | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  await mkdir(path.dirname(lockPath), { recursive: true });
  const owner: LockOwner = { token: randomUUID(), pid: process.pid, host: os.hostname() };
  while (!(await tryTake(lockPath, owner))) {
    throwIfAborted(options.signal);
    if (await takeAwayIfStale(lockPath)) continue;
    options.onWait?.();
    await sleep(POLL_MS, undefined, options.signal ? { signal: options.signal } : {}).catch(() => undefined);
  }

  const controller = new AbortController();
  const forward = () => controller.abort(options.signal?.reason);
  options.signal?.addEventListener('abort', forward);
  if (options.signal?.aborted) forward();
  let lost = false;
  const heartbeat = setInterval(async () => {
    const holder = await readOwner(lockPath);
    if (holder?.token === owner.token) {
      const now = new Date();
      await utimes(lockPath, now, now).catch(() => undefined);
    } else if (holder || !(await exists(lockPath))) {
      // Anything else, such as too many open files, says nothing about the lock.
      lost = true;
      controller.abort();
    }
  }, HEARTBEAT_MS);
  heartbeat.unref();
  try {
    return await work(controller.signal);
  } catch (error) {
    if (lost && error instanceof AbortError && !options.signal?.aborted) {
      throw new DownloadError('Another process took the download over while this one slept. Run the command again.');
    }
    throw error;
  } finally {
    clearInterval(heartbeat);
    options.signal?.removeEventListener('abort', forward);
    if ((await readOwner(lockPath))?.token === owner.token) await rm(lockPath, { force: true });
  }
}

/** Creating with `wx` fails when the file exists: of several processes one wins. */
async function tryTake(lockPath: string, owner: LockOwner): Promise<boolean> {
  try {
    const handle = await open(lockPath, 'wx');
    try {
      await handle.writeFile(JSON.stringify(owner));
    } finally {
      await handle.close();
    }
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EPERM and EBUSY: Windows, while the former holder's file is being deleted.
    if (code === 'EEXIST' || (process.platform === 'win32' && (code === 'EPERM' || code === 'EBUSY'))) return false;
    throw error;
  }
}

/**
 * Moves a dead lock aside. The rename picks one winner among several waiters; if what was moved turns out to be a lock
 * that someone took a moment ago, its holder notices at its next heartbeat and stops.
 */
async function takeAwayIfStale(lockPath: string): Promise<boolean> {
  const seen = await readOwner(lockPath);
  const age = await stat(lockPath).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => undefined,
  );
  if (age === undefined) return true;
  const ownerIsGone = seen !== undefined && seen.host === os.hostname() && !isRunning(seen.pid);
  if (!ownerIsGone && age < STALE_MS) return false;
  if ((await readOwner(lockPath))?.token !== seen?.token) return false;
  const aside = `${lockPath}.${randomUUID()}`;
  await rename(lockPath, aside).catch(() => undefined);
  await rm(aside, { force: true });
  return true;
}

function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

async function readOwner(lockPath: string): Promise<LockOwner | undefined> {
  try {
    const { token, pid, host } = JSON.parse(await readFile(lockPath, 'utf8')) as Record<string, unknown>;
    if (typeof token !== 'string' || typeof pid !== 'number' || typeof host !== 'string') return undefined;
    return { token, pid, host };
  } catch {
    // Gone, or not fully written yet.
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
