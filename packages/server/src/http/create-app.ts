import { type Context, Hono } from 'hono';
import { cors } from 'hono/cors';
import { requestId } from 'hono/request-id';
import type { Services } from '../services.ts';
import { answerRequest } from './answer-request.ts';
import { ApiError } from './api-error.ts';
import { createHostCheck } from './check-host.ts';
import { createKeyCheck } from './check-key.ts';
import { createOriginCheck } from './check-origin.ts';
import type { Route } from './route.ts';
import { toApiError } from './to-api-error.ts';

/** The connection that a request came by, as @hono/node-server passes it. */
export interface ConnectionBindings {
  /**
   * Destroyed when a client leaves its stream unread for too long. Without it the stream ends with an error, which is to come
   * to the same.
   */
  readonly outgoing?: { destroy(): unknown } | undefined;
}

interface AppEnvironment {
  Bindings: ConnectionBindings;
  Variables: { requestId: string; hasRoute: boolean; isPage: boolean };
}

/**
 * Puts the routes behind the guards. Who may ask is known before anything of a body is read: the name of the server, then the
 * page that asks, then the key.
 *
 * @throws InvalidArgumentError for hosts, origins and keys that are none
 */
export function createApp(services: Services): Hono<AppEnvironment> {
  const { options, observer, routes } = services;
  const { allowedHosts, allowedOrigins, apiKeys } = options;
  const checkHost = createHostCheck(allowedHosts);
  const checkOrigin = createOriginCheck(allowedOrigins);
  const checkKey = createKeyCheck(apiKeys);

  const app = new Hono<AppEnvironment>();
  app.use(requestId(), async (c, next) => {
    const startedAt = performance.now();
    await next();
    if (c.get('hasRoute')) return;
    const milliseconds = performance.now() - startedAt;
    const { error, req, res } = c;
    const requestId = c.get('requestId');
    const isPage = c.get('isPage') ?? false;
    observer.withoutRoute({ request: req.raw, requestId, isPage, status: res.status, milliseconds, error });
  });
  app.use(async (c, next) => {
    // Answers are data: no browser is to take them for scripts or pages, or to put them into pages of others.
    c.header('X-Content-Type-Options', 'nosniff');
    c.header('Cross-Origin-Resource-Policy', 'same-origin');
    checkHost(c.req.raw);
    checkOrigin(c.req.raw);
    await next();
  });
  // Origins that are not allowed do not come so far.
  app.use(
    cors({
      origin: (origin) => origin || null,
      allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposeHeaders: ['X-Request-Id', 'Retry-After'],
      maxAge: 600,
    }),
  );
  for (const route of routes) {
    app.on(route.method, route.path, (c) => {
      if (!route.isPublic) checkKey(c.req.raw);
      c.set('hasRoute', true);
      const { outgoing } = c.env;
      return answerRequest(services, {
        route,
        request: c.req.raw,
        requestId: c.get('requestId'),
        params: c.req.param(),
        disconnect: outgoing && (() => outgoing.destroy()),
      });
    });
  }
  for (const [path, methods] of methodsByPath(routes)) {
    app.all(path, (c) => {
      throw new ApiError(`${c.req.path.slice(0, 200)} takes ${methods}, not ${c.req.method.slice(0, 20)}.`, {
        status: 405,
        code: 'method_not_allowed',
        headers: { Allow: methods },
      });
    });
  }
  app.on(['GET', 'HEAD'], '*', async (c, next) => {
    const file = options.page(c.req.raw);
    c.set('isPage', file !== undefined);
    return file ?? next();
  });
  app.all('*', (c) => {
    const message = `There is nothing at ${c.req.method.slice(0, 20)} ${c.req.path.slice(0, 200)}. ${whereElse(routes, c.req.path)}`;
    throw new ApiError(message, { status: 404, type: 'not_found_error', code: 'not_found' });
  });
  app.onError((error, c) => answer(c, toApiError(error)));
  return app;
}

export function errorResponse(error: ApiError): Response {
  return Response.json(error, { status: error.status, headers: error.headers });
}

/** With the headers that the context has by now: those of a response made elsewhere would stand alone. */
function answer(c: Context, error: ApiError): Response {
  const response = errorResponse(error);
  return c.newResponse(response.body, response);
}

/** Clients add the rest of the path to a base URL, which is easily given without its end, or with two. */
function whereElse(routes: readonly Route[], path: string): string {
  const meant = [`/v1${path}`, path.replace(/^\/v1/, '')].find((other) => routes.some((route) => route.path === other));
  if (meant === undefined) return 'See /openapi.json.';
  return `Perhaps ${meant} is meant: the base URL of an OpenAI client ends with one "/v1".`;
}

/** As the Allow header has them. */
function methodsByPath(routes: readonly Route[]): Map<string, string> {
  const methods = new Map<string, string>();
  for (const { method, path } of routes) {
    // HEAD is answered wherever GET is, without the body.
    const names = method === 'GET' ? 'GET, HEAD' : method;
    const before = methods.get(path);
    methods.set(path, before === undefined ? names : `${before}, ${names}`);
  }
  return methods;
}
