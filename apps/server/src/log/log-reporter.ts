import type { LoadReporter } from '@hearth/command-line';
import type { Logger } from 'pino';

/**
 * Says in the log what loading does: one line when something begins that takes long.
 * @param onProgress told how much of that is done, from 0 to 1
 */
export function logReporter(logger: Logger, onProgress: (part: number) => void = () => {}): LoadReporter {
  return {
    say: (sentence) => logger.info(sentence),
    warn: (sentence) => logger.warn(sentence),
    progress(label) {
      let isSaid = false;
      return {
        update(doneBytes, totalBytes) {
          if (totalBytes > 0) onProgress(doneBytes / totalBytes);
          if (!isSaid) logger.info({ totalBytes }, label);
          isSaid = true;
        },
        stop() {},
      };
    },
  };
}
