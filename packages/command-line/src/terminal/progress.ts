import { SingleBar } from 'cli-progress';
import { formatBytes } from './format.ts';
import { canStyle } from './styles.ts';

/** Progress of one task on standard error: a bar on a terminal, one line at the start elsewhere. */
export interface Progress {
  update(done: number, total: number): void;
  /** Takes the bar away; safe to call twice. */
  stop(): void;
}

/** `label` says what is being done, such as `Downloading SmolLM2`. Values are bytes. */
export function byteProgress(label: string): Progress {
  return progress(label, formatBytes);
}

/** As `byteProgress`, of things that are counted, such as `tokens`. */
export function countProgress(label: string, unit: string): Progress {
  return progress(label, (count) => `${count} ${unit}`);
}

function progress(label: string, format: (value: number) => string): Progress {
  return canStyle(process.stderr) ? barProgress(label, format) : lineProgress(label, format);
}

function barProgress(label: string, format: (value: number) => string): Progress {
  let bar: SingleBar | undefined;
  return {
    update(done, total) {
      if (!bar) {
        bar = new SingleBar({
          stream: process.stderr,
          clearOnComplete: true,
          hideCursor: true,
          etaBuffer: 50,
          format: `${label} [{bar}] {percentage}% {doneText} of {totalText}, {eta_formatted} left`,
        });
        bar.start(total, done, { doneText: format(done), totalText: format(total) });
      }
      bar.setTotal(total);
      bar.update(done, { doneText: format(done), totalText: format(total) });
    },
    stop() {
      bar?.stop();
      bar = undefined;
    },
  };
}

function lineProgress(label: string, format: (value: number) => string): Progress {
  let started = false;
  return {
    update(_done, total) {
      if (started) return;
      started = true;
      process.stderr.write(`${label} (${format(total)}) ...\n`);
    },
    stop() {},
  };
}
