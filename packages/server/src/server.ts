import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { ApiError } from './http/api-error.ts';
import { parseRequest } from './http/parse-request.ts';
import { RequestContext } from './http/request-context.ts';
import type { Route } from './http/route.ts';
import { toApiError } from './http/to-api-error.ts';
import { ModelManager } from './models/model-manager.ts';
import { RequestObserver } from './observe/request-observer.ts';
import { ServerMetrics } from './observe/server-metrics.ts';
import { allRoutes } from './routes/all-routes.ts';
import { resolveServerOptions, type ServerOptions } from './server-options.ts';
import type { Services } from './services.ts';

/** A server without a socket: requests in, answers out. */
export interface HearthServer {
  /** Answers a request. Never rejects. */
  fetch(request: Request): Promise<Response>;
  /** Loads a model ahead of its first request. */
  preload(name: string): Promise<void>;
  /** Stops what runs and unloads all models. */
  dispose(): Promise<void>;
}

/**
 * Makes the request handler of a server that speaks OpenAI's interface.
 * @throws InvalidArgumentError for options that make no sense
 */
export function createServer(serverOptions: ServerOptions): HearthServer {
  const options = resolveServerOptions(serverOptions);
  const { logger } = options;
  const models = new ModelManager(options);
  const metrics = new ServerMetrics(models);
  const observer = new RequestObserver(metrics, logger);
  const services: Services = { options, logger, models, metrics, observer, routes: allRoutes };
  const app = new Hono<{ Variables: { requestId: string; hasRoute: boolean } }>();
  app.use(requestId());
  app.use(async (c, next) => {
    const startedAt = performance.now();
    await next();
    if (c.get('hasRoute')) return;
    const milliseconds = performance.now() - startedAt;
    observer.refused({ request: c.req.raw, requestId: c.get('requestId'), status: c.res.status, milliseconds });
  });
  for (const route of allRoutes) {
    app.on(route.method, route.path, (c) => {
      c.set('hasRoute', true);
      return answer(route, services, { request: c.req.raw, requestId: c.get('requestId'), params: c.req.param() });
    });
  }
  app.notFound((c) => {
    const message = `There is nothing at ${c.req.method} ${c.req.path.slice(0, 200)}. See /openapi.json.`;
    return errorResponse(new ApiError(message, { status: 404, type: 'not_found_error', code: 'not_found' }));
  });
  app.onError((error) => errorResponse(toApiError(error)));
  return {
    fetch: async (request) => app.fetch(request),
    preload: async (name) => (await services.models.acquire(name)).release(),
    dispose: () => services.models.dispose(),
  };
}

interface RawRequest {
  readonly request: Request;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
}

async function answer(route: Route, services: Services, raw: RawRequest): Promise<Response> {
  const { observer, options } = services;
  const context = new RequestContext({ ...raw, services, onEnd: () => observer.ended(route, context) });
  observer.began();
  try {
    const body = route.body && (await parseRequest(raw.request, route.body, options));
    if (body && options.logPrompts) context.log.debug({ body: loggable(body.fields) }, 'body of the request');
    const response = await route.handle(context, body);
    context.status = response.status;
    if (!context.isStreaming) context.end();
    return response;
  } catch (error) {
    context.error = error;
    context.stop(error);
    context.end();
    return errorResponse(toApiError(error));
  }
}

/** As text, because a logger may not know how to write large integers. */
function loggable(fields: unknown): string {
  return JSON.stringify(fields, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
}

function errorResponse(error: ApiError): Response {
  // 499 is what a log says of a client that has gone; nobody reads the answer.
  return Response.json(error, { status: error.status, headers: error.headers });
}
