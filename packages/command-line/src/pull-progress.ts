import type { HubOptions, PullProgress } from '@hearth/hub';
import { printable } from './terminal/format.ts';
import { byteProgress, type Progress } from './terminal/progress.ts';

const phaseLabels: Readonly<Record<PullProgress['phase'], string>> = {
  wait: 'Waiting for another process',
  download: 'Downloading',
  extract: 'Unpacking',
  verify: 'Verifying',
};

/** Shows a pull on standard error. Spread `options` into a hub call, and call `stop` when it has ended. */
export function pullProgress(): { readonly options: Pick<HubOptions, 'onProgress' | 'onWarning'>; stop(): void } {
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
          bar = byteProgress(`${phaseLabels[progress.phase]} ${printable(progress.file)}`);
        }
        if (progress.totalBytes !== undefined) bar?.update(progress.completedBytes, progress.totalBytes);
      },
      onWarning(warning) {
        stop();
        phase = undefined;
        process.stderr.write(`${printable(warning.message)}\n`);
      },
    },
    stop,
  };
}
