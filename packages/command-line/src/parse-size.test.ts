import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseSize } from './parse-size.ts';
import { formatBytes } from './terminal/format.ts';
import { UsageError } from './usage-error.ts';

it.each([
  ['512MB', 512e6],
  ['1.5 GB', 1.5e9],
  ['2GiB', 2 ** 31],
  ['1B', 1],
  ['0.5kB', 500],
])('reads %s', (text, bytes) => {
  expect(parseSize(text, '--size')).toBe(bytes);
});

it.each([
  '',
  '512',
  'MB',
  '0MB',
  '-1MB',
  '1e3MB',
  '0x1MB',
  '1 0MB',
  '1mb',
  '1.MB',
  '99999999TB',
  '0.1B',
  '5 constructor',
])('refuses %j', (text) => {
  expect(() => parseSize(text, '--size')).toThrow(UsageError);
});

it('reads what formatBytes writes, to a tenth of its unit', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e15 }), (bytes) => {
      const read = parseSize(formatBytes(bytes), '--size');
      expect(Math.abs(read - bytes)).toBeLessThanOrEqual(Math.max(1, 0.051 * bytes));
      expect(formatBytes(read)).toBe(formatBytes(bytes));
    }),
  );
});
