import { z } from 'zod';
import { badRequest } from '../../http/api-error.ts';
import { postRoute } from '../../http/route.ts';
import { embeddingBody } from './embedding-body.ts';
import { readInputs } from './read-inputs.ts';
import { sideBySide } from './side-by-side.ts';

/** Inputs of one request that are computed at the same time: enough to fill the steps, few enough to leave room in the queue. */
const mostAtOnce = 16;

const embeddingsSchema = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        object: z.literal('embedding'),
        index: z.int(),
        embedding: z.union([z.array(z.number()), z.string()]),
      }),
    ),
    model: z.string(),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  })
  .meta({ id: 'Embeddings' });

/** Vectors of texts: the mean over their positions, of length 1. */
export const embeddingsRoute = postRoute({
  path: '/v1/embeddings',
  tag: 'OpenAI',
  summary: 'Turn texts into vectors',
  body: embeddingBody,
  example: { input: ['Why is the sky blue?', 'What makes the sky blue?'] },
  responses: { 200: [{ description: 'The vectors, in the order of the inputs.', schema: embeddingsSchema }] },
  handle: async (context, { fields }) => {
    const { signal } = context;
    const { model } = await context.useModel(fields.model);
    const { hiddenSize } = model.info;
    const dimensions = fields.dimensions ?? hiddenSize;
    if (dimensions !== hiddenSize) {
      throw badRequest(
        'dimensions',
        `dimensions: the vectors of this model have ${hiddenSize} and cannot be cut to ${dimensions}; leave it out.`,
      );
    }
    const inputs = await readInputs(model, fields, signal);
    const options = { signal, priority: fields.priority ?? 0 };
    const write = fields.encoding_format === 'base64' ? base64Json : numbersJson;
    // Written one by one as they are done: thousands of vectors at once would hold up everybody else.
    const vectors = await sideBySide(inputs, mostAtOnce, async (ids) => write(await model.embed(ids, options)));
    const data = vectors.map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`);
    const promptTokens = inputs.reduce((total, { length }) => total + length, 0);
    context.usage = { promptTokens, cachedTokens: 0, completionTokens: 0 };
    const rest = { model: context.model, usage: { prompt_tokens: promptTokens, total_tokens: promptTokens } };
    return new Response(`{"object":"list","data":[${data.join(',')}],${JSON.stringify(rest).slice(1)}`, {
      headers: { 'Content-Type': 'application/json' },
    });
  },
});

function numbersJson(vector: Float32Array): string {
  return `[${vector.join(',')}]`;
}

/** Of float32, little-endian, whatever the machine. */
function base64Json(vector: Float32Array): string {
  const bytes = Buffer.alloc(4 * vector.length);
  vector.forEach((value, index) => void bytes.writeFloatLE(value, 4 * index));
  return `"${bytes.toString('base64')}"`;
}
