import type { Route } from '../../http/route.ts';
import { applyTemplateRoute } from './apply-template.ts';
import { detokenizeRoute } from './detokenize.ts';
import { tokenizeRoute } from './tokenize.ts';

/** Text and tokens, without the model. Also under /v1, where some clients look for all there is. */
export const textRoutes: readonly Route[] = [tokenizeRoute, detokenizeRoute, applyTemplateRoute].flatMap((route) => [
  route,
  { ...route, path: `/v1${route.path}` },
]);
