import fc from 'fast-check';
import { expect, it } from 'vitest';
import { advanceUtf8, invalidUtf8 } from './utf8.ts';

const decode = (bytes: Uint8Array, stream: boolean): boolean => {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream });
    return true;
  } catch {
    return false;
  }
};

it('reads bytes as TextDecoder does, wherever they are cut', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 6 }),
    fc
      .array(
        fc.constantFrom(0x41, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xe0, 0xe1, 0xed, 0xf0, 0xf4, 0xf5),
        {
          maxLength: 6,
        },
      )
      .map((list) => Uint8Array.from(list)),
    fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(text)),
  );
  fc.assert(
    fc.property(bytes, fc.nat(6), (all, cut) => {
      const first = advanceUtf8(0, all.subarray(0, cut));
      const state = first === invalidUtf8 ? invalidUtf8 : advanceUtf8(first, all.subarray(cut));
      expect(state !== invalidUtf8).toBe(decode(all, true));
      expect(state === 0).toBe(decode(all, false));
    }),
    { numRuns: 2000 },
  );
});
