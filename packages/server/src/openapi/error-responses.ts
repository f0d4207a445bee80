import { z } from 'zod';
import type { Route } from '../http/route.ts';

export const errorSchema = z
  .object({
    error: z.object({
      message: z.string().meta({ description: 'What was expected, what came and what to do.' }),
      type: z.enum([
        'invalid_request_error',
        'authentication_error',
        'permission_error',
        'not_found_error',
        'rate_limit_error',
        'server_error',
      ]),
      param: z.string().nullable().meta({ description: 'The field that is wrong, such as messages[2].content.' }),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: 'Error' });

const always: Readonly<Record<number, string>> = {
  403: 'The host or origin is none that may ask this server.',
  500: 'The server failed; its log says why, under the id of the request.',
  503: 'The server is shutting down, or the model was unloaded meanwhile.',
};
const ofKeys = { 401: 'The key is missing or wrong.' };
const ofBodies: Readonly<Record<number, string>> = {
  400: 'A field is wrong or not supported, or the prompt is too long; the error names it.',
  404: 'There is no such model.',
  408: 'The body took too long to arrive.',
  413: 'The body is too large.',
  415: 'The content type is not application/json.',
};
const ofModels: Readonly<Record<number, string>> = {
  429: 'Too many requests wait already.',
  504: 'The answer was not there in time.',
};

/** The errors that a route may give besides its own, by status. */
export function errorResponsesOf(route: Route): Readonly<Record<number, string>> {
  return {
    ...always,
    ...(!route.isPublic && ofKeys),
    ...(route.body && ofBodies),
    ...(route.body && route.tag === 'OpenAI' && ofModels),
    ...(route.path.includes(':') && { 404: ofBodies[404]! }),
    ...route.errors,
  };
}
