import { z } from 'zod';
import { getRoute } from '../http/route.ts';

/** For load balancers: whether requests should be sent here. Needs no key. */
export const readyRoute = getRoute({
  path: '/ready',
  tag: 'Operation',
  summary: 'Whether the server takes requests: its models are loaded ahead, and it is not shutting down',
  isPublic: true,
  responses: { 200: [{ description: 'It does. Otherwise: 503.', schema: z.object({ status: z.literal('ready') }) }] },
  handle: async ({ services }) => {
    services.lifecycle.checkReady();
    return Response.json({ status: 'ready' });
  },
});
