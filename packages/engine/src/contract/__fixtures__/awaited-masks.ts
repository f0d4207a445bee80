import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import type { GenerateOptions, TokenConstraint } from '../../generate/generate-options.ts';

type MaskFunction = NonNullable<GenerateOptions['mask']>;

/** The same masks as a function gives, as a constraint that takes its time: none, a turn, or longer than the others wait. */
export function awaitedMasks(mask: MaskFunction): TokenConstraint {
  return {
    async nextMasks(completion, guesses) {
      if (completion.length % 7 === 3) await delay(20);
      else if (completion.length % 2 === 1) await nextTurn();
      const masks = [mask(completion)];
      for (const [i, guess] of guesses.entries()) {
        const last = masks.at(-1);
        if (last && ((last[guess >>> 5]! >>> (guess & 31)) & 1) === 0) break;
        masks.push(mask([...completion, ...guesses.slice(0, i + 1)]));
      }
      return masks;
    },
  };
}
