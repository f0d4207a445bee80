import { type ConnectionBindings, createApp, errorResponse } from './http/create-app.ts';
import { toApiError } from './http/to-api-error.ts';
import { type DrainOptions, Lifecycle } from './lifecycle.ts';
import { ModelManager } from './models/model-manager.ts';
import { RequestObserver } from './observe/request-observer.ts';
import { ServerMetrics } from './observe/server-metrics.ts';
import { allRoutes } from './routes/all-routes.ts';
import { conversationRoutes } from './routes/conversations/conversation-routes.ts';
import { resolveServerOptions, type ServerOptions } from './server-options.ts';
import type { Services } from './services.ts';

/** A server without a socket: requests in, answers out. */
export interface HearthServer {
  /** Answers a request. Never rejects. */
  fetch(request: Request, bindings?: ConnectionBindings): Promise<Response>;
  /**
   * Loads a model ahead of its first request. `GET /ready` says no meanwhile.
   * @throws ApiError for an unknown name, and when it cannot be loaded
   */
  preload(name: string): Promise<void>;
  /**
   * Takes no more requests: new ones get 503, while those under way run to their end, or until `timeoutMs` have passed.
   * Resolves when none is left.
   */
  drain(options?: DrainOptions): Promise<void>;
  /** Ends what runs and unloads all models. */
  dispose(): Promise<void>;
}

/**
 * Makes the request handler of a server that speaks OpenAI's interface.
 * @throws InvalidArgumentError for options that make no sense
 */
export function createServer(serverOptions: ServerOptions): HearthServer {
  const options = resolveServerOptions(serverOptions);
  const { logger } = options;
  const lifecycle = new Lifecycle();
  const models = new ModelManager(options);
  const metrics = new ServerMetrics(models);
  const observer = new RequestObserver(metrics, logger);
  const { conversations } = serverOptions;
  const routes = conversations ? [...allRoutes, ...conversationRoutes(conversations)] : allRoutes;
  const services: Services = { options, logger, lifecycle, models, metrics, observer, routes };
  const app = createApp(services);
  return {
    fetch: async (request, bindings = {}) => {
      try {
        return await app.fetch(request, bindings);
      } catch (error) {
        logger.error({ err: error }, 'a request could not be answered');
        return errorResponse(toApiError(error));
      }
    },
    preload: (name) => lifecycle.preload(models.acquire(name).then(({ release }) => release())),
    drain: (options) => lifecycle.drain(options),
    dispose: () => {
      lifecycle.stopAll();
      return models.dispose();
    },
  };
}
