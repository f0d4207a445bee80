import type { Route } from '../http/route.ts';
import { chatCompletionsRoute } from './chat/chat-completions.ts';
import { completionsRoute } from './completions/completions.ts';
import { composeRoute } from './compose.ts';
import { embeddingsRoute } from './embeddings/embeddings.ts';
import { healthRoute } from './health.ts';
import { metricsRoute } from './metrics.ts';
import { getModelRoute, listModelsRoute } from './models.ts';
import { openApiRoute } from './openapi.ts';
import { readyRoute } from './ready.ts';
import { responsesRoute } from './responses/responses.ts';
import { textRoutes } from './text/text-routes.ts';

/** Everything that every server answers. */
export const allRoutes: readonly Route[] = [
  ...[healthRoute, readyRoute, metricsRoute, openApiRoute],
  ...[listModelsRoute, getModelRoute],
  ...[chatCompletionsRoute, responsesRoute, completionsRoute, embeddingsRoute],
  composeRoute,
  ...textRoutes,
];
