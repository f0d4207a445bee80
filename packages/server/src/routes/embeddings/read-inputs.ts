import type { Model } from '@hearth/engine';
import { listInputs } from '../../fields/text-or-ids.ts';
import { checkTokenIds } from '../../fields/token-ids.ts';
import { badRequest } from '../../http/api-error.ts';
import type { EmbeddingFields } from './embedding-body.ts';

/** As OpenAI has it. */
const mostInputs = 2048;

/**
 * Encodes what is to be embedded. Texts begin with the start token if the model was trained with one.
 * @throws ApiError 400 for too many inputs, and naming the first one that is empty, too long or no list of ids
 */
export async function readInputs(
  { tokenizer, info }: Pick<Model, 'tokenizer' | 'info'>,
  fields: Pick<EmbeddingFields, 'input'>,
  signal: AbortSignal,
): Promise<ArrayLike<number>[]> {
  const inputs = listInputs(fields.input, 'input');
  if (inputs.length === 0 || inputs.length > mostInputs) {
    throw badRequest('input', `input: must hold from 1 to ${mostInputs} inputs, but there are ${inputs.length}.`);
  }
  for (const { input, place } of inputs) {
    if (input.length === 0) throw badRequest(place, `${place}: must not be empty.`);
    if (typeof input !== 'string') checkTokenIds(input, info.vocabSize, place);
  }
  return Promise.all(
    inputs.map(async ({ input, place }) => {
      const ids = typeof input === 'string' ? await tokenizer.encode(input, { signal }) : input;
      if (ids.length <= info.contextLength) return ids;
      throw badRequest(
        place,
        `${place}: has ${ids.length} tokens, but the context of the model is ${info.contextLength}; shorten it.`,
        'context_length_exceeded',
      );
    }),
  );
}
