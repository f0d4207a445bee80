import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { resolveSeed } from './seed.ts';

describe('resolveSeed', () => {
  it('takes signed and unsigned 64-bit integers, modulo 2^64', () => {
    expect(resolveSeed(0)).toBe(0n);
    expect(resolveSeed(-0)).toBe(0n);
    expect(resolveSeed(42)).toBe(42n);
    expect(resolveSeed(-1)).toBe(2n ** 64n - 1n);
    expect(resolveSeed(2n ** 64n - 1n)).toBe(2n ** 64n - 1n);
    expect(resolveSeed(2n ** 63n)).toBe(2n ** 63n);
    expect(resolveSeed(-(2n ** 63n))).toBe(2n ** 63n);
    expect(resolveSeed(Number.MAX_SAFE_INTEGER)).toBe(2n ** 53n - 1n);
  });

  it('tells 2^53 + 1 from 2^53, and refuses numbers that cannot', () => {
    expect(resolveSeed(2n ** 53n + 1n)).toBe(9007199254740993n);
    expect(resolveSeed(2n ** 53n)).toBe(9007199254740992n);
    expect(() => resolveSeed(2 ** 53)).toThrow('a bigint beyond 2^53');
    expect(() => resolveSeed(-(2 ** 53))).toThrow(InvalidArgumentError);
  });

  it('refuses fractions, integers beyond 64 bits, and other types', () => {
    for (const bad of [0.5, Number.NaN, Number.POSITIVE_INFINITY, 2n ** 64n, -(2n ** 63n) - 1n, '42', null, true, {}]) {
      expect(() => resolveSeed(bad)).toThrow(InvalidArgumentError);
    }
    expect(() => resolveSeed(2n ** 64n)).toThrow('but got 18446744073709551616n.');
  });

  it('draws a random one when there is none', () => {
    const seeds = [1, 2, 3, 4].map(() => resolveSeed(undefined));
    for (const seed of seeds) expect(BigInt.asUintN(64, seed)).toBe(seed);
    // Four equal 64-bit seeds would be a broken source, not chance.
    expect(new Set(seeds).size).toBe(4);
  });
});
