import { z } from 'zod';
import { getRoute } from '../http/route.ts';
import { describeRoutes, type OpenApiDocument } from '../openapi/describe-routes.ts';
import type { Services } from '../services.ts';

/** Made when it is first asked for, as few do. */
const documents = new WeakMap<Services, OpenApiDocument>();

export const openApiRoute = getRoute({
  path: '/openapi.json',
  tag: 'Operation',
  summary: 'This description',
  responses: {
    200: [{ description: 'An OpenAPI 3.1 document.', schema: z.record(z.string(), z.unknown()) }],
  },
  handle: async ({ services }) => {
    let document = documents.get(services);
    if (!document) {
      document = describeRoutes(services.routes, { needsKey: services.options.apiKeys.length > 0 });
      documents.set(services, document);
    }
    return Response.json(document);
  },
});
