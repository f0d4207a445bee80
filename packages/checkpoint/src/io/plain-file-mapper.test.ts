import { execFile } from 'node:child_process';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DisposedError, InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { putFile, temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import { plainFileMapper } from './plain-file-mapper.ts';

const directory = await temporaryDirectory();
const path = await putFile(
  directory,
  'ten bytes é.bin',
  Uint8Array.from({ length: 10 }, (_, i) => i),
);

describe('plainFileMapper', () => {
  it('reads any range, each time into bytes of its own', async () => {
    const file = await plainFileMapper.open(path);
    expect(file.size).toBe(10);
    expect(file.path).toBe(path);
    expect([...(await file.read(0, 10))]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect([...(await file.read(9, 1))]).toEqual([9]);
    expect([...(await file.read(10, 0))]).toEqual([]);
    const [first, second] = await Promise.all([file.read(2, 3), file.read(2, 3)]);
    first!.fill(99);
    expect([...second!]).toEqual([2, 3, 4]);
    await file.close();
  });

  it('refuses ranges that are not within the file, before it allocates', async () => {
    const file = await plainFileMapper.open(path);
    for (const [offset, length] of [
      [0, 11],
      [10, 1],
      [-1, 1],
      [0, -1],
      [0.5, 1],
      [0, 2 ** 53],
      [2 ** 60, 1],
      [Number.NaN, 1],
    ] as const) {
      await expect(file.read(offset, length), `${offset} ${length}`).rejects.toThrow(InvalidModelError);
    }
    await file.close();
  });

  it('closes once, however often it is asked, and reads no more', async () => {
    const file = await plainFileMapper.open(path);
    await Promise.all([file.close(), file.close()]);
    await file.close();
    await expect(file.read(0, 1)).rejects.toThrow(DisposedError);
  });

  it('names what it cannot open', async () => {
    await expect(plainFileMapper.open(join(directory, 'nothing'))).rejects.toThrow(/nothing cannot be opened: ENOENT/);
    await expect(plainFileMapper.open(directory)).rejects.toThrow(/not a regular file/);
  });

  it.skipIf(process.platform === 'win32')('refuses a pipe instead of waiting for its writer', async () => {
    const pipe = join(directory, 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    await expect(plainFileMapper.open(pipe)).rejects.toThrow(/not a regular file/);
  });

  it('notices that the file became shorter', async () => {
    const shrinking = await putFile(directory, 'shrinking.bin', new Uint8Array(100));
    const file = await plainFileMapper.open(shrinking);
    await truncate(shrinking, 50);
    await expect(file.read(0, 100)).rejects.toThrow(/had 100 bytes when it was opened, but ends at 50 now/);
    expect((await file.read(0, 50)).length).toBe(50);
    await file.close();
  });
});
