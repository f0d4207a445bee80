import type { GenerateOptions } from '@hearth/engine';
import { z } from 'zod';
import { refuseUnless } from './refused-fields.ts';
import { samplingFields, samplingOptions } from './sampling-fields.ts';
import { flag, text, wholeFrom } from './scalars.ts';

const mostTokenId = 2 ** 31 - 1;
const tokenIdError = `must be a list of token ids, whole numbers from 0 to ${mostTokenId}`;

/** What every request for generated text may have besides its prompt. */
export const generationFields = {
  model: text('Name or alias of the model. Default: the first of /v1/models.', 1024),
  ...samplingFields,
  max_tokens: wholeFrom(0, Number.MAX_SAFE_INTEGER, 'Most tokens to make. 0 makes none.'),
  n: wholeFrom(1, 1024, 'How many texts are to follow the prompt. Each draws for itself. Default: 1.'),
  stream: flag('Answer with server-sent events. Default: false.'),
  stream_options: z
    .object(
      {
        include_usage: flag('Send one more chunk, with the usage and no choices. Default: false.'),
        ...refuseUnless({ continuous_usage_stats: [false] }),
      },
      { error: 'must be an object' },
    )
    .nullish(),
  stop_token_ids: z
    .array(z.int({ error: tokenIdError }).min(0, { error: tokenIdError }).max(mostTokenId, { error: tokenIdError }), {
      error: tokenIdError,
    })
    .max(1024, { error: 'must have at most 1024 token ids' })
    .meta({ description: "Tokens that end the answer, besides the model's own." })
    .nullish(),
  ignore_eos: flag("Go on past the model's own end of text. Default: false."),
  cache_salt: text('What is computed for the prompt is reused only for requests of the same salt.', 1024),
};

const generationSchema = z.object(generationFields);

/** The engine's options for these fields. How many texts and which form the answer takes is up to the route. */
export function generationOptions(fields: z.output<typeof generationSchema>): GenerateOptions {
  return {
    ...samplingOptions(fields),
    maxTokens: fields.max_tokens ?? undefined,
    stopTokenIds: fields.stop_token_ids ?? undefined,
    ignoreEos: fields.ignore_eos ?? undefined,
  };
}

/** Adds the issue that `stream_options` is of no use without `stream`. */
export function checkStreamOptions(
  fields: Pick<z.output<typeof generationSchema>, 'stream' | 'stream_options'>,
  context: z.core.$RefinementCtx,
): void {
  if (!fields.stream_options || fields.stream) return;
  context.addIssue({ code: 'custom', path: ['stream_options'], message: 'is only allowed when stream is true' });
}
