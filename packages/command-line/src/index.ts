export { explainThreads } from './explain-threads.ts';
export type { LoadReporter } from './load-reporter.ts';
export {
  addBackendOptions,
  addLoadOptions,
  type BackendFlags,
  closeModel,
  loadWeights,
  type ModelFlags,
  type OpenedModel,
  openBackend,
  openModel,
} from './model-options.ts';
export {
  type AnsweringFlags,
  addAnsweringOptions,
  closeWithDraft,
  type LoadedWithDraft,
  loadWithDraft,
  type OpenedWithDraft,
  openWithDraft,
} from './model-with-draft.ts';
export { packageVersion } from './package-version.ts';
export { parseNumber, parseWhole } from './parse-number.ts';
export { parseSize } from './parse-size.ts';
export { pullProgress } from './pull-progress.ts';
export { reportError } from './report-error.ts';
export { collectRule, parseStorageDtype } from './storage-types.ts';
export { endQuietlyOnClosedPipe, interruptSignal } from './terminal/exit.ts';
export { formatBytes, formatCount, formatTable, printable } from './terminal/format.ts';
export { byteProgress, countProgress, type Progress } from './terminal/progress.ts';
export { canStyle, type Styles, stylesFor } from './terminal/styles.ts';
export { UsageError } from './usage-error.ts';
