import { z } from 'zod';
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import type { Route, RouteResponse } from '../http/route.ts';
import { serverVersion } from '../version.ts';
import { errorResponsesOf, errorSchema } from './error-responses.ts';
import { openApiPath } from './open-api-path.ts';

export interface DescribeRoutesOptions {
  /** Whether the server has keys, of which requests must carry one. */
  readonly needsKey: boolean;
}

export type OpenApiDocument = ReturnType<typeof createDocument>;

/** The OpenAPI 3.1 description of routes: bodies, answers and events by the schemas that they are checked and made with. */
export function describeRoutes(routes: readonly Route[], { needsKey }: DescribeRoutesOptions): OpenApiDocument {
  const paths: ZodOpenApiPathsObject = {};
  for (const route of routes) {
    const path = openApiPath(route.path);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, needsKey) };
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Hearth',
      version: serverVersion(),
      description:
        "Language models behind OpenAI's interface. Unknown fields of bodies are accepted and have no effect.",
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'OpenAI', description: "As OpenAI's clients know it." },
      { name: 'Text', description: 'Between text, messages and tokens.' },
      { name: 'Conversations', description: 'Kept by the server, for pages that show them.' },
      { name: 'Operation', description: 'For those who run the server.' },
    ],
    paths,
    ...(needsKey && {
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' },
        },
      },
    }),
  });
}

function describeRoute(route: Route, needsKey: boolean): ZodOpenApiOperationObject {
  const params = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const errors = Object.entries(errorResponsesOf(route)).map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: errorSchema } } },
  ]);
  const answers = Object.entries(route.responses).map(([status, responses]) => [status, describeAnswers(responses)]);
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.summary,
    requestParams: {
      ...(params.length > 0 && { path: z.object(Object.fromEntries(params.map((name) => [name, z.string().min(1)]))) }),
      ...(route.query && { query: route.query }),
    },
    ...(route.body && {
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: route.body, ...(route.example && { example: route.example }) },
        },
      },
    }),
    responses: Object.fromEntries([...errors, ...answers]),
    ...(needsKey && { security: route.isPublic ? [] : [{ bearer: [] }, { apiKey: [] }] }),
  };
}

/** One answer in several content types, such as JSON and a stream of events. */
function describeAnswers(responses: readonly RouteResponse[]) {
  return {
    description: responses.map(({ description }) => description).join(' '),
    content: Object.fromEntries(
      responses.map(({ contentType = 'application/json', schema = z.string() }) => [contentType, { schema }]),
    ),
  };
}

/** `/v1/chat/completions` by POST is `postV1ChatCompletions`. */
function operationId({ method, path }: Route): string {
  const words = openApiPath(path).match(/\w+/g) ?? [];
  return [method.toLowerCase(), ...words.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('');
}
