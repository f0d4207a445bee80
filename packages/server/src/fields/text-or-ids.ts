import { z } from 'zod';
import { isNumberList, tokenIdJsonSchema } from './token-ids.ts';

/** Text, or token ids. */
export type TextOrIds = string | readonly number[];

type OneOrMany = TextOrIds | readonly TextOrIds[];

const isTextOrIds = (value: unknown): value is TextOrIds => typeof value === 'string' || isNumberList(value);

const isOneOrMany = (value: unknown): value is OneOrMany =>
  isTextOrIds(value) || (Array.isArray(value) && value.every(isTextOrIds));

const text = { type: 'string' } as const;
const tokenIds = { type: 'array', items: tokenIdJsonSchema, minItems: 1 } as const;

/** One text, one list of ids, or a list of either. Looked at as one value: an issue for each of a million entries is no help. */
export function textsOrIdsField(description: string) {
  return z
    .custom<OneOrMany>(isOneOrMany, {
      error: 'must be a string, a list of token ids, or a list of strings and lists of token ids',
    })
    .meta({
      description,
      override: { anyOf: [text, tokenIds, { type: 'array', items: { anyOf: [text, tokenIds] }, minItems: 1 }] },
    });
}

/** What the field holds, each with its place in the request, such as `prompt[2]`. */
export function listInputs(value: OneOrMany, field: string): { readonly input: TextOrIds; readonly place: string }[] {
  if (isTextOrIds(value)) return [{ input: value, place: field }];
  return value.map((input, index) => ({ input, place: `${field}[${index}]` }));
}
