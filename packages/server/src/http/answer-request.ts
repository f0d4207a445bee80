import type { Services } from '../services.ts';
import { untilAborted } from '../until-aborted.ts';
import type { ApiError } from './api-error.ts';
import { parseRequest } from './parse-request.ts';
import { type IncomingRequest, RequestContext } from './request-context.ts';

/**
 * Has a route answer a request, and gives back what the request held: at once for plain answers and errors, at the end of the
 * stream otherwise.
 *
 * @throws ApiError, whatever went wrong
 */
export async function answerRequest(services: Services, incoming: IncomingRequest): Promise<Response> {
  const { lifecycle, observer, options } = services;
  const { route, request } = incoming;
  const context = new RequestContext({ ...incoming, services, onEnd });
  lifecycle.add(context);
  observer.began();
  try {
    // Whoever watches the server wants to see it shut down.
    if (route.tag !== 'Operation') lifecycle.checkOpen();
    const body = route.body && (await parseRequest(request, route.body, options, context.signal));
    if (body && options.logPrompts) context.log.debug({ body: loggable(body.fields) }, 'body of the request');
    // Whoever stops a request does not wait for what cannot be stopped.
    const response = await untilAborted(route.handle(context, body), context.signal);
    context.status = response.status;
    if (!context.isStreaming) context.end();
    return response;
  } catch (error) {
    const told: ApiError = context.fail(error);
    context.end();
    throw told;
  }
}

function onEnd(context: RequestContext): void {
  const { lifecycle, observer } = context.services;
  lifecycle.remove(context);
  observer.ended(context.route, context);
}

/** As text, because a logger may not know how to write large integers. */
function loggable(fields: unknown): string {
  return JSON.stringify(fields, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
}
