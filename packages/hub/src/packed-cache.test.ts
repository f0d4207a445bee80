import { InvalidArgumentError } from '@hearth/core';
import { expect, it } from 'vitest';
import { packedCacheOptions } from './packed-cache.ts';

const withVariable = (value: string | undefined) =>
  packedCacheOptions({ env: { HEARTH_CACHE: '/c', HEARTH_PACKED_CACHE: value } });

it('lies beside the models', () => {
  expect(withVariable(undefined)).toMatchObject({ directory: '/c/packed', maxBytes: 20e9 });
  expect(packedCacheOptions({ cacheDirectory: '/other', env: { HEARTH_CACHE: '/c' } })).toMatchObject({
    directory: '/other/packed',
  });
});

it.each([
  ['', 20e9],
  ['50', 50e9],
  [' 0.5 ', 0.5e9],
  ['0', undefined],
  ['off', undefined],
  ['OFF', undefined],
])('takes %j', (value, maxBytes) => {
  expect(withVariable(value)?.maxBytes).toBe(maxBytes);
});

it.each(['on', '-1', 'NaN', '20GB', 'Infinity'])('refuses %j', (value) => {
  expect(() => withVariable(value)).toThrow(InvalidArgumentError);
});
