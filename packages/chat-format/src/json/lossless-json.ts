import { LimitExceededError } from '@hearth/core';
import { buildJson } from './json-reader.ts';
import { JsonText } from './json-text.ts';
import { maxJsonDepth } from './write-json.ts';

/**
 * A JSON value of which nothing is lost. Numbers that JavaScript would write in another way (`1.0`, `1e5`, 64-bit integers,
 * 17 digits) are `JsonText`; all others are numbers.
 */
export type LosslessJson =
  | null
  | boolean
  | string
  | number
  | JsonText
  | LosslessJson[]
  | { [member: string]: LosslessJson };

/** A JSON value as `JSON.parse` gives it, but for integers above 2^53, which are bigints. */
export type PlainJson = null | boolean | string | number | bigint | PlainJson[] | { [member: string]: PlainJson };

/** Bounds of `parseLosslessJson`. */
export interface LosslessJsonLimits {
  /** Longest text, in UTF-16 units. Default 2^22. */
  length?: number;
  /** Deepest nesting. Default 200, the most that chat templates take. */
  depth?: number;
  /**
   * Most values: numbers, texts, constants, lists and objects; keys count as values, too. Of short whole numbers, such as
   * token ids, four count as one. Default: no bound of their own.
   */
  values?: number;
  /** Longest number, in characters. Default 1,000. */
  numberLength?: number;
}

const defaultLimits: Readonly<Required<LosslessJsonLimits>> = {
  length: 2 ** 22,
  depth: maxJsonDepth,
  values: Number.POSITIVE_INFINITY,
  numberLength: 1_000,
};

/**
 * Parses JSON from outside, such as the body of a request. Parts of the result can be given to `ChatTemplate.render` as
 * they are; `plainJson` makes of them what a validator expects.
 *
 * Equal keys in one object are refused, because readers differ in which of them they take. `__proto__` is a member like
 * any other, as with `JSON.parse`.
 *
 * @throws InvalidArgumentError when the text is no JSON, nests too deep or holds too long a number, with
 *   `details.position` in UTF-16 units
 * @throws LimitExceededError when the text is too long or holds too many values
 */
export function parseLosslessJson(text: string, place = 'body', limits: LosslessJsonLimits = {}): LosslessJson {
  const { length, depth, values, numberLength } = { ...defaultLimits, ...limits };
  if (text.length > length) {
    throw new LimitExceededError(`${place} has ${text.length} UTF-16 units, but the limit is ${length}.`, {
      details: { limit: 'length', length: text.length, maximum: length },
    });
  }
  return buildJson<LosslessJson>(
    text,
    {
      // Unlike an assignment, this makes `__proto__` an own member.
      object: (members) => Object.fromEntries(members),
      list: (items) => items,
      string: (string) => string,
      number: readNumber,
      constant: (value) => value,
      key: (key) => key,
    },
    { place, maxDepth: depth, maxValues: values, maxNumberLength: numberLength, equalKeys: 'refused' },
  );
}

/** The same value with JavaScript's numbers: integers are numbers up to 2^53 and bigints above, the rest is rounded. */
export function plainJson(value: LosslessJson): PlainJson {
  if (value instanceof JsonText) return plainNumber(value);
  if (Array.isArray(value)) return value.map(plainJson);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plainJson(member)]));
}

function readNumber(text: string, isInteger: boolean): number | JsonText {
  // Short integers are written in one way only.
  if (isInteger && text.length <= 15 && text !== '-0') return Number(text);
  const value = Number(text);
  return String(value) === text ? value : new JsonText(text, true);
}

function plainNumber({ text }: JsonText): number | bigint {
  const value = Number(text);
  return /^-?\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}
