import { z } from 'zod';
import { ApiError } from '../http/api-error.ts';
import type { RequestContext } from '../http/request-context.ts';
import { getRoute } from '../http/route.ts';

const modelSchema = z
  .object({
    id: z.string(),
    object: z.literal('model'),
    created: z.int().meta({ description: 'When the server started, in seconds since 1970.' }),
    owned_by: z.string(),
    aliases: z.array(z.string()).meta({ description: 'Other names that requests may use.' }),
    state: z.enum(['unloaded', 'loading', 'loaded']),
  })
  .meta({ id: 'Model' });

const startedAt = Math.floor(Date.now() / 1000);

function listModels({ services }: RequestContext): z.infer<typeof modelSchema>[] {
  return services.models.list().map(({ name, aliases, state }) => ({
    id: name,
    object: 'model',
    created: startedAt,
    owned_by: 'hearth',
    aliases: [...aliases],
    state,
  }));
}

/** Every model once, whether it is loaded or not. */
export const listModelsRoute = getRoute({
  path: '/v1/models',
  tag: 'OpenAI',
  summary: 'List the models',
  responses: {
    200: [{ description: 'The models.', schema: z.object({ object: z.literal('list'), data: z.array(modelSchema) }) }],
  },
  handle: async (context) => Response.json({ object: 'list', data: listModels(context) }),
});

export const getModelRoute = getRoute({
  path: '/v1/models/:id{.+}',
  tag: 'OpenAI',
  summary: 'Describe a model, by its name or an alias',
  responses: { 200: [{ description: 'The model.', schema: modelSchema }] },
  handle: async (context) => {
    const { id = '' } = context.params;
    const model = listModels(context).find((model) => model.id === id || model.aliases.includes(id));
    if (model) return Response.json(model);
    throw new ApiError(`There is no model ${JSON.stringify(id.slice(0, 200))} here.`, {
      status: 404,
      type: 'not_found_error',
      param: 'model',
      code: 'model_not_found',
    });
  },
});
