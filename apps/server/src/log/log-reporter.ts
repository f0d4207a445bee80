import type { LoadReporter } from '@hearth/command-line';
import type { Logger } from 'pino';

/** Says in the log what loading does: one line when something begins that takes long. */
export function logReporter(logger: Logger): LoadReporter {
  return {
    say: (sentence) => logger.info(sentence),
    warn: (sentence) => logger.warn(sentence),
    progress(label) {
      let isSaid = false;
      return {
        update(_, totalBytes) {
          if (!isSaid) logger.info({ totalBytes }, label);
          isSaid = true;
        },
        stop() {},
      };
    },
  };
}
