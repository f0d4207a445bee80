import type { HubOptions, PullProgress } from '@hearth/hub';
import { type LoadReporter, terminalReporter } from './load-reporter.ts';
import { printable } from './terminal/format.ts';
import type { Progress } from './terminal/progress.ts';

const phaseLabels: Readonly<Record<PullProgress['phase'], string>> = {
  wait: 'Waiting for another process',
  download: 'Downloading',
  extract: 'Unpacking',
  verify: 'Verifying',
};

/** Callbacks of a pull, and how to take its progress away. */
export interface PullReport {
  readonly options: Pick<HubOptions, 'onProgress' | 'onWarning'>;
  stop(): void;
}

/** Shows a pull. Spread `options` into a hub call, and call `stop` when it has ended. */
export function pullProgress(reporter: LoadReporter = terminalReporter): PullReport {
  let phase: string | undefined;
  let bar: Progress | undefined;
  const stop = () => {
    bar?.stop();
    bar = undefined;
  };
  return {
    options: {
      onProgress(progress) {
        const next = `${progress.phase} ${progress.file}`;
        if (next !== phase) {
          stop();
          phase = next;
          bar = reporter.progress(`${phaseLabels[progress.phase]} ${printable(progress.file)}`);
        }
        if (progress.totalBytes !== undefined) bar?.update(progress.completedBytes, progress.totalBytes);
      },
      onWarning(warning) {
        stop();
        phase = undefined;
        reporter.warn(warning.message);
      },
    },
    stop,
  };
}
