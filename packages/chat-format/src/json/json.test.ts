import { InvalidArgumentError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Budget } from '../interpreter/budget.ts';
import { toJson } from '../interpreter/to-json.ts';
import { JsonText } from './json-text.ts';
import { readJson } from './read-json.ts';
import { writeJson } from './write-json.ts';

const budget = new Budget(1_000_000, 0);
const options = { indent: undefined, separators: undefined, ensureAscii: false, sortKeys: false };
const roundTrip = (text: string) => toJson(readJson(text, 'x'), options, budget);

describe('readJson', () => {
  it('keeps what JavaScript would lose, as Python does', () => {
    expect(roundTrip('[1.0, -0.0, 1e5, 12345678901234567890, -9007199254740993, 1.5E-7, -0]')).toBe(
      '[1.0, -0.0, 100000.0, 12345678901234567890, -9007199254740993, 1.5e-07, 0]',
    );
    expect(roundTrip('{"__proto__": 1, "a": 2, "a": 3}')).toBe('{"__proto__": 1, "a": 3}');
  });

  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(roundTrip(text))).toEqual(JSON.parse(text.replaceAll(/(?<=[[:,]|^)-0(?=[\],}]|$)/g, '0')));
      }),
      { seed: 2, numRuns: 300 },
    );
  });

  it.each([
    '',
    '{',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    "{'a':1}",
    '01',
    '1 2',
    'nul',
    '"\\x"',
    '"\n"',
    '"a',
    '[1',
    '\ufeff1',
  ])('refuses %j with the place', (text) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(() => readJson(text, 'arguments', (same) => same)).toThrow(
      /^arguments is no valid JSON: .* at character \d+/,
    );
  });

  it('bounds the depth, and takes long strings', () => {
    expect(() => readJson('['.repeat(100_000), 'x')).toThrow(/nested more than 200 levels/);
    const long = 'x'.repeat(4_000_000);
    expect(readJson(JSON.stringify(long), 'x').value).toHaveLength(4_000_000);
  });
});

describe('writeJson', () => {
  it('writes values and JSON texts', () => {
    const value = { a: [1, 'x', null, true, undefined], b: undefined, c: 10n ** 20n, d: new JsonText('{"n": 1.0}') };
    expect(() => writeJson(value, 'v')).toThrow('v.a[4] is undefined, which JSON cannot hold.');
    value.a.pop();
    expect(writeJson(value, 'v')).toBe('{"a":[1,"x",null,true],"c":100000000000000000000,"d":{"n": 1.0}}');
  });

  it.each<[message: string, value: unknown]>([
    ['v.x is function', { x: () => 1 }],
    ['v is NaN', Number.NaN],
    ['v is symbol', Symbol('x')],
    ['v[0] is a Map', [new Map()]],
    ['v is a Date', new Date()],
  ])('refuses by place: %s', (message, value) => {
    expect(() => writeJson(value, 'v')).toThrow(message);
  });

  it('refuses cycles', () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    expect(() => writeJson(cycle, 'v')).toThrow(/nested more than 200 levels/);
  });
});

describe('JsonText', () => {
  it('takes one JSON value and nothing more', () => {
    expect(new JsonText(' {"a": 1.0} ').parse()).toEqual({ a: 1 });
    for (const text of ['1},"x":{', '', '1 2', '{']) expect(() => new JsonText(text)).toThrow(InvalidArgumentError);
  });
});
