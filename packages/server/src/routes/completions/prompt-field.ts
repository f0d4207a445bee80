import { z } from 'zod';
import { isNumberList, tokenIdJsonSchema } from '../../fields/token-ids.ts';

/** One prompt: text, or token ids. */
export type PromptInput = string | readonly number[];

type PromptField = PromptInput | readonly PromptInput[];

const isPromptInput = (value: unknown): value is PromptInput => typeof value === 'string' || isNumberList(value);

const isPromptField = (value: unknown): value is PromptField =>
  isPromptInput(value) || (Array.isArray(value) && value.every(isPromptInput));

const text = { type: 'string' } as const;
const tokenIds = { type: 'array', items: tokenIdJsonSchema, minItems: 1 } as const;

/** Looked at as one value: an issue for each wrong entry of a million would be no help. */
export const promptField = z
  .custom<PromptField>(isPromptField, {
    error: 'must be a string, a list of token ids, or a list of strings and lists of token ids',
  })
  .meta({
    description: 'What the text is to follow: one prompt, or a list of them, each answered for itself.',
    override: { anyOf: [text, tokenIds, { type: 'array', items: { anyOf: [text, tokenIds] }, minItems: 1 }] },
  });

/** The prompts of a request, each with the place that it came from, such as `prompt[2]`. */
export function listPrompts(field: PromptField): { readonly input: PromptInput; readonly place: string }[] {
  if (isPromptInput(field)) return [{ input: field, place: 'prompt' }];
  return field.map((input, index) => ({ input, place: `prompt[${index}]` }));
}
