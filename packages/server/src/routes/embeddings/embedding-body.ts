import { z } from 'zod';
import { refuseUnless } from '../../fields/refused-fields.ts';
import { numberFrom, text, wholeFrom } from '../../fields/scalars.ts';
import { textsOrIdsField } from '../../fields/text-or-ids.ts';

const formatError = 'must be "float" or "base64"';

/** Body of POST /v1/embeddings. */
export const embeddingBody = z
  .object({
    ...refuseUnless({ truncate_prompt_tokens: [], truncate: ['NONE'], normalize: [true] }),
    model: text('Name or alias of the model. Default: the first of /v1/models.', 1024),
    input: textsOrIdsField('One input or a list of them, none empty. Control words in a text are text.'),
    encoding_format: z
      .enum(['float', 'base64'], { error: formatError })
      .meta({ description: 'Numbers, or base64 of float32 with the low byte first. Default: float.' })
      .nullish(),
    dimensions: wholeFrom(1, Number.MAX_SAFE_INTEGER, 'Must be what the model has, where it is given.'),
    priority: numberFrom(-1e9, 1e9, 'Requests of higher priority start first. Default: 0.'),
  })
  .meta({ id: 'EmbeddingRequest' });

export type EmbeddingFields = z.output<typeof embeddingBody>;
