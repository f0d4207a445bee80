import type { Route } from './http/route.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Logger } from './logger.ts';
import type { ModelManager } from './models/model-manager.ts';
import type { RequestObserver } from './observe/request-observer.ts';
import type { ServerMetrics } from './observe/server-metrics.ts';
import type { ResolvedServerOptions } from './server-options.ts';

/** What all requests share. */
export interface Services {
  readonly models: ModelManager;
  readonly lifecycle: Lifecycle;
  readonly options: ResolvedServerOptions;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly observer: RequestObserver;
  /** Everything that the server answers. */
  readonly routes: readonly Route[];
}
