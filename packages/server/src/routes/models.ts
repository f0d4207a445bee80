import { z } from 'zod';
import { getRoute } from '../http/route.ts';
import type { ListedModel } from '../models/model-manager.ts';

const modelSchema = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int().meta({ description: 'When the server started, in seconds since 1970.' }),
    owned_by: z.string(),
    aliases: z.array(z.string()).meta({ description: 'Other names that requests may use.' }),
    state: z.enum(['unloaded', 'loading', 'loaded']),
    progress: z
      .number()
      .nullable()
      .meta({ description: 'How much of its load is done, from 0 to 1; null where that is not known, or none runs.' }),
  })
  .meta({ id: 'Model' });

const startedAt = Math.floor(Date.now() / 1000);

function describe({ name, aliases, state, progress }: ListedModel): z.infer<typeof modelSchema> {
  return {
    id: name,
    object: 'model',
    created: startedAt,
    owned_by: 'hearth',
    aliases: [...aliases],
    state,
    progress: progress ?? null,
  };
}

/** Every model once, whether it is loaded or not. */
export const listModelsRoute = getRoute({
  path: '/v1/models',
  tag: 'OpenAI',
  summary: 'List the models',
  responses: {
    200: [{ description: 'The models.', schema: z.object({ object: z.literal('list'), data: z.array(modelSchema) }) }],
  },
  handle: async ({ services }) => Response.json({ object: 'list', data: services.models.list().map(describe) }),
});

export const getModelRoute = getRoute({
  path: '/v1/models/:id{.+}',
  tag: 'OpenAI',
  summary: 'Describe a model, by its name or an alias',
  responses: { 200: [{ description: 'The model.', schema: modelSchema }] },
  handle: async ({ services, params }) => Response.json(describe(services.models.describe(params.id ?? ''))),
});
