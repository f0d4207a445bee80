import type { ProgressReporter } from './progress.ts';
import type { Settings } from './settings.ts';

/** A file that a source is to put in place. */
export interface FileTarget {
  /** Final path in the cache; its directory exists. */
  path: string;
  sizeBytes: number;
  /** Lower-case hex. */
  sha256: string;
}

/** What a source works with. */
export interface SourceContext {
  settings: Settings;
  /** Fires when the caller aborts or the model's lock was lost. */
  signal: AbortSignal;
  progress: ProgressReporter;
}
