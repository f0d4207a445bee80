import type { Route } from '../http/route.ts';
import { chatCompletionsRoute } from './chat/chat-completions.ts';
import { healthRoute } from './health.ts';
import { metricsRoute } from './metrics.ts';
import { getModelRoute, listModelsRoute } from './models.ts';
import { textRoutes } from './text/text-routes.ts';

/** Everything that the server answers. */
export const allRoutes: readonly Route[] = [
  ...[healthRoute, metricsRoute],
  ...[listModelsRoute, getModelRoute],
  chatCompletionsRoute,
  ...textRoutes,
];
