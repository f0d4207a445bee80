import { z } from 'zod';
import { getRoute } from '../http/route.ts';

/** Says that the process answers. Touches no model and needs no key. */
export const healthRoute = getRoute({
  path: '/health',
  tag: 'Operation',
  summary: 'Whether the process answers',
  isPublic: true,
  responses: { 200: [{ description: 'It does.', schema: z.object({ status: z.literal('ok') }) }] },
  handle: async () => Response.json({ status: 'ok' }),
});
