import { describe, expect, it } from 'vitest';
import { formatBytes, formatCount, formatTable, printable } from './format.ts';

describe('formatBytes', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [98_362_432, '98.4 MB'],
    [999_960, '1.0 MB'],
    [2.5e12, '2.5 TB'],
    [4e15, '4000.0 TB'],
  ])('%d is %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

describe('formatCount', () => {
  it.each([
    [12, '12'],
    [134_515_008, '134.5M'],
    [1_100_000_000, '1.10B'],
  ])('%d is %s', (count, text) => expect(formatCount(count)).toBe(text));
});

describe('formatTable', () => {
  it('aligns columns and leaves no blanks at line ends', () => {
    expect(
      formatTable(
        [
          ['a', 'bb', 'c'],
          ['long', '1', ''],
        ],
        [1],
      ),
    ).toBe('a     bb  c\nlong   1');
  });
});

describe('printable', () => {
  it('shows control characters of untrusted text instead of sending them to the terminal', () => {
    expect(printable('a\u001b[2Jb\r\u0007\tc\nd\u009b')).toBe('a\\x1b[2Jb\\x0d\\x07\tc\nd\\x9b');
  });
});
