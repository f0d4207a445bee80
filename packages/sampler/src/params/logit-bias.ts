import { InvalidArgumentError } from '@hearth/core';
import { describeValue, invalidField } from './check.ts';

/** Largest magnitude of a bias, as in OpenAI's API. */
const MAX_BIAS = 100;
/** How many bad entries the message spells out; `details.badKeys` has all of them. */
const MAX_LISTED = 20;
/** A token id as a JSON key: decimal digits without leading zeros, sign or blanks. */
const TOKEN_ID_KEY = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * Bias by token id, from a Map or from a record with decimal keys (JSON). Only own enumerable properties of a record
 * count, and the result is a Map, so a key like `__proto__` is a bad key and nothing more.
 *
 * @throws InvalidArgumentError, one for all entries: ids outside the vocabulary or no integers, values outside -100…100
 */
export function resolveLogitBias(logitBias: unknown, vocabSize: number): ReadonlyMap<number, number> {
  const resolved = new Map<number, number>();
  if (logitBias === undefined) return resolved;

  const badKeys: unknown[] = [];
  const problems: string[] = [];
  for (const { key, tokenId, value } of entriesOf(logitBias)) {
    const isTokenId = Number.isInteger(tokenId) && tokenId >= 0 && tokenId < vocabSize;
    if (isTokenId && typeof value === 'number' && Math.abs(value) <= MAX_BIAS) {
      resolved.set(tokenId, value);
      continue;
    }
    badKeys.push(key);
    if (problems.length >= MAX_LISTED) continue;
    problems.push(
      isTokenId
        ? `token ${tokenId} has ${describeValue(value)}`
        : `${describeValue(key)} is no token id of this vocabulary`,
    );
  }
  if (badKeys.length === 0) return resolved;

  const more = badKeys.length > MAX_LISTED ? `; and ${badKeys.length - MAX_LISTED} more` : '';
  const expected = `token ids from 0 to ${vocabSize - 1} with numbers from -${MAX_BIAS} to ${MAX_BIAS}`;
  throw new InvalidArgumentError(`logitBias must map ${expected}, but ${problems.join('; ')}${more}.`, {
    details: { field: 'logitBias', expected, badKeys },
  });
}

interface Entry {
  readonly key: unknown;
  /** NaN where the key is nothing like one. */
  readonly tokenId: number;
  readonly value: unknown;
}

function entriesOf(logitBias: unknown): Entry[] {
  if (logitBias instanceof Map) {
    return Array.from(logitBias, ([key, value]) => ({
      key,
      tokenId: typeof key === 'number' ? key : Number.NaN,
      value,
    }));
  }
  // Arrays and typed arrays have index keys and would pass for a record.
  if (
    typeof logitBias === 'object' &&
    logitBias !== null &&
    !Array.isArray(logitBias) &&
    !ArrayBuffer.isView(logitBias)
  ) {
    return Object.entries(logitBias).map(([key, value]) => ({
      key,
      tokenId: TOKEN_ID_KEY.test(key) ? Number(key) : Number.NaN,
      value,
    }));
  }
  throw invalidField('logitBias', 'a Map or an object from token id to number', logitBias);
}
