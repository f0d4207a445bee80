import type { HearthError } from '@hearth/core';

/** Where a pull stands. `completedBytes` of `totalBytes` belong to the phase, over all files of the model. */
export interface PullProgress {
  /**
   * `wait`: another process is fetching the same model; `download`: bytes arrive; `extract`: the model is read out of a
   * package; `verify`: bytes that are already here are hashed.
   */
  phase: 'wait' | 'download' | 'extract' | 'verify';
  /** The file in work. */
  file: string;
  /** Where it comes from, in words. */
  source: string;
  completedBytes: number;
  /** Undefined while the server has not said. */
  totalBytes: number | undefined;
}

/** One source failed; the next one is tried. */
export interface PullWarning {
  source: string;
  message: string;
  error: HearthError;
}

/** A bar drawn 20 times a second looks smooth; more calls would only cost time. */
const REPORT_INTERVAL_MS = 50;

/** Reports progress at a bounded rate. The first and the last report of a phase always pass. */
export class ProgressReporter {
  readonly #report: ((progress: PullProgress) => void) | undefined;
  #lastTime = 0;
  #lastKey = '';

  constructor(report: ((progress: PullProgress) => void) | undefined) {
    this.#report = report;
  }

  update(progress: PullProgress): void {
    if (!this.#report) return;
    const key = `${progress.phase} ${progress.file} ${progress.source}`;
    const now = performance.now();
    const isLast = progress.completedBytes === progress.totalBytes;
    if (key === this.#lastKey && !isLast && now - this.#lastTime < REPORT_INTERVAL_MS) return;
    this.#lastKey = key;
    this.#lastTime = now;
    this.#report(progress);
  }
}
