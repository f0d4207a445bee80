import { InvalidArgumentError, LimitExceededError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonText } from './json-text.ts';
import { parseLosslessJson, plainJson } from './lossless-json.ts';
import { writeJson } from './write-json.ts';

const rewrite = (text: string) => writeJson(parseLosslessJson(text), 'body');

describe('parseLosslessJson', () => {
  it('loses nothing that JavaScript would', () => {
    const text =
      '{"seed":9223372036854775807,"t":1.0,"z":-0,"e":1e5,"long":0.12345678901234567,"tiny":5e-324,"huge":1e999,"n":[1,-2.5]}';
    expect(rewrite(text)).toBe(text);
    expect(parseLosslessJson('{"a": 1, "b": 1.0}')).toEqual({ a: 1, b: new JsonText('1.0') });
  });

  it('is JSON.parse, once plain', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(plainJson(parseLosslessJson(text))).toEqual(JSON.parse(text));
      }),
      { seed: 8, numRuns: 500 },
    );
  });

  it('keeps every number in its own writing', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,30})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/);
    fc.assert(
      fc.property(fc.array(digits), (numbers) => {
        const text = `[${numbers.join(',')}]`;
        expect(rewrite(text)).toBe(text);
      }),
      { seed: 9, numRuns: 300 },
    );
  });

  it('makes of `__proto__` a member and nothing else', () => {
    const body = parseLosslessJson('{"__proto__": {"isAdmin": true}}') as Record<string, unknown>;
    expect(Object.keys(body)).toEqual(['__proto__']);
    expect(body.isAdmin).toBeUndefined();
    const plain = plainJson(body as never) as Record<string, unknown>;
    expect(Object.keys(plain)).toEqual(['__proto__']);
    expect(plain.isAdmin).toBeUndefined();
    expect({}).not.toHaveProperty('isAdmin');
  });

  it('reads short and long texts alike', () => {
    for (const length of [0, 1, 62, 63, 64, 65, 66, 200]) {
      for (const text of ['a'.repeat(length), `${'a'.repeat(length)}"\\\n\u0000`, 'é😀'.repeat(length), '\ud800']) {
        expect(parseLosslessJson(JSON.stringify(text))).toBe(text);
        expect(() => parseLosslessJson(JSON.stringify(text).slice(0, -1))).toThrow('a string does not end');
        expect(() => parseLosslessJson(`"${'a'.repeat(length)}\n"`)).toThrow(
          'a character or escape that JSON does not',
        );
      }
    }
  });

  it.each(['01', '-', '00', '1.', '.5', '1e', '+1', '0x1', '1_000'])('refuses %s, which is no number', (text) => {
    expect(() => parseLosslessJson(`[${text}]`)).toThrow('body is no valid JSON');
  });

  it.each<[message: string, text: string, position: number]>([
    ['body is no valid JSON: a value is expected at character 6.', '{"a": }', 6],
    ['body is no valid JSON: "," is expected at character 7.', '{"a": 1:2}', 7],
    ['body is no valid JSON: the key "a" comes a second time in one object', '{"a": 1, "a": 1}', 12],
    ['body is no valid JSON: the key "a" comes a second time in one object', '{"a": 1, "\\u0061": 1}', 17],
    ['body is no valid JSON: something follows after its end at character 3.', '{} {}', 3],
    ['body is no valid JSON: a value is expected at character 0.', '', 0],
  ])('refuses with the place: %s', (message, text, position) => {
    let error: unknown;
    try {
      parseLosslessJson(text);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ details: { place: 'body', position } });
    expect((error as Error).message).toContain(message);
  });

  it('is bounded in length, depth, values and digits', () => {
    expect(() => parseLosslessJson(' '.repeat(2 ** 22 + 1))).toThrow(LimitExceededError);
    expect(() => parseLosslessJson('[1]', 'x', { length: 2 })).toThrow('x has 3 UTF-16 units, but the limit is 2.');
    expect(() => parseLosslessJson('['.repeat(1_000_000))).toThrow('body is no valid JSON: it is nested more than 200');
    expect(() => parseLosslessJson('[[1]]', 'x', { depth: 1 })).toThrow('nested more than 1 levels');
    expect(() => parseLosslessJson('1'.repeat(1_001))).toThrow(
      'a number has 1001 characters, but the limit is 1000, and it ends at character 1001.',
    );
    const mixed = '{"a":[1.5,"b",null,7,8,9,10]}';
    expect(parseLosslessJson(mixed, 'x', { values: 7 })).toEqual({ a: [1.5, 'b', null, 7, 8, 9, 10] });
    expect(() => parseLosslessJson(mixed, 'x', { values: 6 })).toThrow('x holds more than 6 values.');
    expect(plainJson(parseLosslessJson('1'.repeat(1_000)))).toBe(BigInt('1'.repeat(1_000)));
  });
});

describe('plainJson', () => {
  it('has numbers where they are exact enough and bigints for large integers', () => {
    const text = '[1.0, 9007199254740991, 9007199254740993, -9223372036854775808, 1e400, "1.0", {"a": 1e2}]';
    expect(plainJson(parseLosslessJson(text))).toEqual([
      1,
      9007199254740991,
      9007199254740993n,
      -9223372036854775808n,
      Number.POSITIVE_INFINITY,
      '1.0',
      { a: 100 },
    ]);
  });
});
