import { z } from 'zod';
import { badRequest } from '../http/api-error.ts';

/** A list of numbers, looked at no closer: which of them are tokens depends on the model. See `checkTokenIds`. */
export function isNumberList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((id) => typeof id === 'number');
}

/** A list of token ids as one value: an issue for each wrong entry of a million would be no help. */
export function tokenIdsField(description: string) {
  return z.custom<readonly number[]>(isNumberList, { error: 'must be a list of token ids' }).meta({
    description,
    override: { type: 'array', items: tokenIdJsonSchema },
  });
}

export const tokenIdJsonSchema = { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 } as const;

/** @throws ApiError 400 naming the first entry that is no id of the vocabulary */
export function checkTokenIds(ids: readonly number[], vocabSize: number, param: string): void {
  const index = ids.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  if (index < 0) return;
  const place = `${param}[${index}]`;
  throw badRequest(
    place,
    `${place}: must be a token id, a whole number from 0 to ${vocabSize - 1}, but it is ${ids[index]}.`,
    'invalid_token_id',
  );
}
