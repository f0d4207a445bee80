import type { LosslessJson } from '@hearth/chat-format';
import type { z } from 'zod';
import type { RequestContext } from './request-context.ts';

/** A body that has been read and checked. */
export interface RequestBody<Fields> {
  /** By the schema of the route. Integers above 2^53 are bigints. */
  readonly fields: Fields;
  /** As it came, nothing lost: what templates are given is taken from here. */
  readonly json: Readonly<Record<string, LosslessJson>>;
}

export interface RouteResponse {
  readonly description: string;
  /** Default: application/json. */
  readonly contentType?: string;
  /** Of a JSON answer, or of each event of a stream. */
  readonly schema?: z.ZodType;
}

interface RouteDescription {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** In the manner of hono: `/v1/models/:id{.+}`. */
  readonly path: string;
  readonly tag: 'OpenAI' | 'Text' | 'Conversations' | 'Operation';
  readonly summary: string;
  /** Whether it needs no key. Default: false. */
  readonly isPublic?: boolean;
  /** What may stand behind the question mark; the handler reads it with `parseQuery`. */
  readonly query?: z.ZodObject;
  /** Whether a client asks so often that nobody wants a line in the log each time. Default: false. */
  readonly isFrequent?: boolean;
  /** Answers by status; those that every route may give (400, 401, 500 ...) are added by the description of the whole. */
  readonly responses: Readonly<Record<number, readonly RouteResponse[]>>;
  /** Errors besides, by status, or what one of the others means here. */
  readonly errors?: Readonly<Record<number, string>>;
}

/** One method of one path: what it takes, what it answers, and who does it. The OpenAPI description is made from these. */
export interface Route extends RouteDescription {
  readonly body?: z.ZodType;
  /** A body that works, for people who read the description. */
  readonly example?: Readonly<Record<string, unknown>>;
  handle(context: RequestContext, body: RequestBody<unknown> | undefined): Promise<Response>;
}

type RouteWithoutBody = Omit<RouteDescription, 'method'> & { handle(context: RequestContext): Promise<Response> };

interface RouteWithBody<Body extends z.ZodType> extends Omit<RouteDescription, 'method'> {
  readonly body: Body;
  readonly example?: z.input<Body> & Readonly<Record<string, unknown>>;
  /** Is given a body that has passed the schema. */
  handle(context: RequestContext, body: RequestBody<z.output<Body>>): Promise<Response>;
}

export function getRoute(route: RouteWithoutBody): Route {
  return { ...route, method: 'GET' };
}

export function deleteRoute(route: RouteWithoutBody): Route {
  return { ...route, method: 'DELETE' };
}

export function postRoute<Body extends z.ZodType>(route: RouteWithBody<Body>): Route {
  return withBody('POST', route);
}

export function putRoute<Body extends z.ZodType>(route: RouteWithBody<Body>): Route {
  return withBody('PUT', route);
}

export function patchRoute<Body extends z.ZodType>(route: RouteWithBody<Body>): Route {
  return withBody('PATCH', route);
}

function withBody<Body extends z.ZodType>(method: Route['method'], route: RouteWithBody<Body>): Route {
  return {
    ...route,
    method,
    handle: (context, body) => route.handle(context, body as RequestBody<z.output<Body>>),
  };
}
