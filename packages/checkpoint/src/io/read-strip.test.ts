import { MemoryFile } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { readStrip } from './read-strip.ts';

describe('readStrip', () => {
  // 70 rows are more than are read at the same time; 300 bytes of 1,200 are the narrowest strip that is read in whole rows.
  it.each([
    [0, 1200],
    [0, 300],
    [900, 300],
    [5, 299],
    [1199, 1],
  ])('gives the bytes from %i, %i of them, of every row', async (first, width) => {
    const bytes = Uint8Array.from({ length: 16 + 70 * 1200 }, (_, i) => (i * 31 + (i >> 8)) & 255);
    const byteLength = 70 * 1200;
    const tensor = { name: 'm', storedName: 'm', dtype: 'u8', shape: [70, 1200], offset: 16, byteLength };
    const strip = await readStrip({ ...tensor, file: new MemoryFile(bytes) }, 1200, first, width);
    expect(strip.length).toBe(70 * width);
    for (let row = 0; row < 70; row++) {
      const start = 16 + row * 1200 + first;
      expect(Buffer.compare(strip.subarray(row * width, (row + 1) * width), bytes.subarray(start, start + width))).toBe(
        0,
      );
    }
  });
});
