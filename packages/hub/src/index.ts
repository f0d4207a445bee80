export { defaultCacheDirectory } from './cache-directory.ts';
export {
  type CatalogueEntry,
  type CatalogueSource,
  catalogue,
  defaultModelName,
  findInCatalogue,
  type PackagedFile,
  type PackagedPart,
} from './catalogue.ts';
export {
  AccessDeniedError,
  CacheError,
  ChecksumError,
  DiskFullError,
  DownloadError,
  ModelNotFoundError,
  OfflineError,
} from './errors.ts';
export { type CachedModel, listModels, pullModel, removeModel, resolveModel } from './models.ts';
export { packedCacheOptions } from './packed-cache.ts';
export type { PullProgress, PullWarning } from './progress.ts';
export type { ModelSource, ResolvedModel } from './resolved-model.ts';
export type { HubOptions, RetryPolicy, Timeouts } from './settings.ts';
