export { ApiError, type ApiErrorOptions, type ApiErrorType } from './http/api-error.ts';
export type { Logger } from './logger.ts';
export type { ModelState } from './models/model-manager.ts';
export { createServer, type HearthServer } from './server.ts';
export type { LoadedModel, ModelDefinition, ServerOptions } from './server-options.ts';
