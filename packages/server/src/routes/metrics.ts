import { getRoute } from '../http/route.ts';

/** Numbers for Prometheus. Needs a key where others do: they say how the server is used. */
export const metricsRoute = getRoute({
  path: '/metrics',
  tag: 'Operation',
  summary: 'Metrics in the text format of Prometheus',
  responses: { 200: [{ description: 'The metrics.', contentType: 'text/plain' }] },
  handle: async ({ services: { metrics } }) =>
    new Response(await metrics.text(), { headers: { 'Content-Type': metrics.contentType } }),
});
