import { createHash } from 'node:crypto';
import { InvalidArgumentError, InvalidModelError } from '@hearth/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeHeader, encodeHeader } from './header.ts';

const header = { format: 1, key: 'k', fileBytes: 5000, sample: 's', source: '/models/größe "quoted".gguf' };

/** A page with a right checksum over anything. */
function pageOf(json: string): Uint8Array {
  const page = new Uint8Array(4096);
  page.set(Buffer.from(`hearth packed weights\n${createHash('sha256').update(json).digest('hex')}\n${json}\n`));
  return page;
}

it('comes back', () => {
  const page = encodeHeader(header);
  expect(page).toHaveLength(4096);
  expect(decodeHeader(page)).toEqual(header);
});

it('refuses any page with a byte changed', () => {
  const page = encodeHeader(header);
  const textBytes = page.indexOf(0);
  fc.assert(
    fc.property(fc.nat(textBytes - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const damaged = page.slice();
      damaged[at]! ^= change;
      expect(() => decodeHeader(damaged)).toThrow(InvalidModelError);
    }),
  );
});

it('refuses any other bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 4096 }), (page) => {
      expect(() => decodeHeader(page)).toThrow(InvalidModelError);
    }),
  );
});

it.each([
  '',
  'null',
  '5',
  '[]',
  '{"format":1',
  '{}',
  JSON.stringify({ ...header, fileBytes: '5000' }),
  JSON.stringify({ ...header, fileBytes: 1.5 }),
  JSON.stringify({ ...header, key: ['k'] }),
  JSON.stringify({ ...header, source: undefined }),
])('refuses the content %s', (json) => {
  expect(() => decodeHeader(pageOf(json))).toThrow(InvalidModelError);
});

it('has no room for a path of thousands of letters', () => {
  expect(() => encodeHeader({ ...header, source: 'x'.repeat(4000) })).toThrow(InvalidArgumentError);
});
