import { expect, it } from 'vitest';
import { leavesRoom } from './directory.ts';

it.each([
  ['exactly twice the file', 100, { blocks: 50, bsize: 10, bavail: 20 }, true],
  ['a byte too little', 100, { blocks: 50, bsize: 1, bavail: 199 }, false],
  ['room on a disk that others may use', 100, { blocks: 500, bsize: 10, bavail: 0 }, false],
  ['a file system that reports no blocks', 100, { blocks: 0, bsize: 4096, bavail: 0 }, true],
])('a file is kept only if as much stays free: %s', (_, fileBytes, space, fits) => {
  expect(leavesRoom(fileBytes, space)).toBe(fits);
});
