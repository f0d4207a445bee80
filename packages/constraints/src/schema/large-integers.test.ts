import { expect, it } from 'vitest';
import { withoutLargeIntegers } from './large-integers.ts';

const most = 2n ** 63n - 1n;

it('rounds bounds so that they allow no more', () => {
  const schema = { type: 'integer', minimum: -most, maximum: most, default: most };
  const rounded = withoutLargeIntegers(schema) as Record<'minimum' | 'maximum' | 'default', number>;
  expect(BigInt(rounded.maximum)).toBe(2n ** 63n - 1024n);
  expect(BigInt(rounded.minimum)).toBe(-(2n ** 63n) + 1024n);
  expect(rounded.default).toBe(2 ** 63);
  for (const value of [2n ** 53n + 1n, 2n ** 60n + 123n, -(2n ** 60n) - 123n, 10n ** 25n + 1n]) {
    const { maximum, minimum } = withoutLargeIntegers({ maximum: value, minimum: value }) as Record<string, number>;
    expect(BigInt(maximum!) <= value && BigInt(minimum!) >= value).toBe(true);
    expect(BigInt(minimum!) - BigInt(maximum!)).toBeGreaterThan(0n);
  }
});

it('leaves everything else as it is', () => {
  const schema = {
    properties: { a: { enum: [1, 'x', null] } },
    items: [true, { const: { maximum: 3 } }],
    maximum: 2 ** 53,
  };
  expect(withoutLargeIntegers(schema)).toEqual(schema);
  expect(withoutLargeIntegers({ maximum: 2n ** 60n })).toEqual({ maximum: 2 ** 60 });
  const named = { properties: { const: { maximum: 2n ** 60n }, maximum: { const: 1 } } };
  expect(withoutLargeIntegers(named)).toEqual({ properties: { const: { maximum: 2 ** 60 }, maximum: { const: 1 } } });
});

it.each([
  [{ const: most }, '#/const'],
  [{ properties: { a: { enum: [1, most] } } }, '#/properties/a/enum/1'],
  [{ const: { maximum: most } }, '#/const/maximum'],
])('refuses them where they are values: %#', (schema, path) => {
  expect(() => withoutLargeIntegers(schema)).toThrow(
    expect.objectContaining({ code: 'constraint', details: { path } }),
  );
});
