export { ApiError, type ApiErrorOptions, type ApiErrorType } from './http/api-error.ts';
export type { ConnectionBindings } from './http/create-app.ts';
export type { DrainOptions } from './lifecycle.ts';
export type { Logger } from './logger.ts';
export type { ModelState } from './models/model-slot.ts';
export { type PageHandler, readPageFiles } from './page/page-files.ts';
export { createServer, type HearthServer } from './server.ts';
export type { LoadedModel, LoadOptions, ModelDefinition, ServerOptions } from './server-options.ts';
