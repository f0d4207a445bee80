import type { Logger } from './logger.ts';
import type { ModelManager } from './models/model-manager.ts';
import type { ResolvedServerOptions } from './server-options.ts';

/** What all requests share. */
export interface Services {
  readonly models: ModelManager;
  readonly options: ResolvedServerOptions;
  readonly logger: Logger;
}
