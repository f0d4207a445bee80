import { ApiError } from '../http/api-error.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Route } from '../http/route.ts';
import { toApiError } from '../http/to-api-error.ts';
import type { Logger } from '../logger.ts';
import { openApiPath } from '../openapi/open-api-path.ts';
import { sumUsage } from './prompt-watch.ts';
import type { ServerMetrics } from './server-metrics.ts';

/** A request that no route was reached for: there is none, the caller may not, or it is for a file of the page. */
export interface RequestWithoutRoute {
  readonly request: Request;
  readonly requestId: string;
  readonly isPage: boolean;
  readonly status: number;
  readonly milliseconds: number;
  readonly error: unknown;
}

const clientGone = 499;
/** Anybody can send any method; each would be a time series of its own. */
const knownMethods = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'];

/** Counts each request and writes its line to the log. */
export class RequestObserver {
  readonly #metrics: ServerMetrics;
  readonly #logger: Logger;

  constructor(metrics: ServerMetrics, logger: Logger) {
    this.#metrics = metrics;
    this.#logger = logger;
  }

  began(): void {
    this.#metrics.requestBegan();
  }

  ended(route: Route, context: RequestContext): void {
    const { model, watches, startedAt } = context;
    const usage = context.usage ?? (watches.length > 0 ? sumUsage(watches.map(({ usage }) => usage)) : undefined);
    const firstTokenAt = Math.min(...watches.map(({ firstTokenAt }) => firstTokenAt ?? Number.POSITIVE_INFINITY));
    const firstTokenMs = Number.isFinite(firstTokenAt) ? firstTokenAt - startedAt : undefined;
    const milliseconds = performance.now() - startedAt;
    const status = finalStatus(context);
    const path = openApiPath(route.path);
    this.#metrics.requestEnded({
      route: path,
      method: route.method,
      status,
      seconds: milliseconds / 1000,
      model,
      usage,
      firstTokenSeconds: firstTokenMs === undefined ? undefined : firstTokenMs / 1000,
    });
    const fields = {
      method: route.method,
      route: path,
      status,
      milliseconds: round(milliseconds),
      ...(model !== undefined && { model }),
      ...usage,
      ...(firstTokenMs !== undefined && { firstTokenMs: round(firstTokenMs) }),
      ...(context.error !== undefined && status !== clientGone && { error: toApiError(context.error).message }),
    };
    // What we did wrong is told with all that is known of it; what the client did is a sentence.
    if (status === 500) context.log.error({ ...fields, err: causeOf(context.error) }, 'request failed');
    else if (route.tag === 'Operation' || route.isFrequent) context.log.debug(fields, 'request');
    else context.log.info(fields, 'request');
  }

  withoutRoute({ request, requestId, isPage, status, milliseconds, error }: RequestWithoutRoute): void {
    const method = knownMethods.includes(request.method) ? request.method : 'other';
    const route = isPage ? '(page)' : '(none)';
    this.#metrics.requestBegan();
    this.#metrics.requestEnded({
      route,
      method,
      status,
      seconds: milliseconds / 1000,
      model: undefined,
      usage: undefined,
      firstTokenSeconds: undefined,
    });
    const fields = {
      ...{ requestId, method, route, status, milliseconds: round(milliseconds) },
      ...(error !== undefined && { error: toApiError(error).message }),
    };
    if (isPage) this.#logger.debug(fields, 'request');
    else this.#logger.info(fields, 'request');
  }
}

/** A stream has said 200 long before it is known what became of it. */
function finalStatus({ error, status }: RequestContext): number {
  return error === undefined ? status : toApiError(error).status;
}

function causeOf(error: unknown): unknown {
  return error instanceof ApiError ? (error.cause ?? error) : error;
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
