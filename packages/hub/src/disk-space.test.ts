import { expect, test } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { asDiskFullError, ensureDiskSpace } from './disk-space.ts';
import { DiskFullError } from './errors.ts';

test('more than any disk holds is refused with needed and free bytes', async () => {
  const directory = await temporaryDirectory();
  const failure = await ensureDiskSpace(directory, 1e18).catch((error) => error);
  expect(failure).toBeInstanceOf(DiskFullError);
  expect(failure.neededBytes).toBe(1e18);
  expect(failure.freeBytes).toBeGreaterThan(0);
  expect(failure.message).toContain('HEARTH_CACHE');
});

test('little is fine, nothing is always fine', async () => {
  await ensureDiskSpace(await temporaryDirectory(), 1);
  await ensureDiskSpace('/no/such/directory', 0);
});

test.each(['ENOSPC', 'EDQUOT'])('a write that failed with %s becomes a DiskFullError', async (code) => {
  const cause = Object.assign(new Error('write'), { code });
  const error = await asDiskFullError(cause, await temporaryDirectory(), 5);
  expect(error).toMatchObject({ code: 'disk_full', neededBytes: 5, cause });
});

test('other errors stay as they are', async () => {
  const error = new Error('other');
  expect(await asDiskFullError(error, '/', 5)).toBe(error);
});
