import { InvalidArgumentError } from '@hearth/core';

/** A stop string was completed. `text` is what may still be shown: everything before it. */
export interface StopMatch {
  readonly text: string;
  readonly stopSequence: string;
}

/**
 * Finds stop strings in text that comes in pieces, and holds back whatever could still become one.
 *
 * The stop string that is *completed* first, character by character, wins; of several that end at the same place the
 * longest. So the result does not depend on how the text is cut into tokens.
 */
export class StopMatcher {
  readonly #stops: readonly string[];
  /** The end of the text so far that is a beginning of some stop string. */
  #held = '';

  /** @throws InvalidArgumentError for an empty stop string, or one with half a surrogate pair */
  constructor(stops: readonly string[]) {
    for (const stop of stops) {
      if (typeof stop !== 'string' || stop.length === 0) {
        throw new InvalidArgumentError('A stop string must hold at least one character.', { details: { stop } });
      }
      if (/\p{Surrogate}/u.test(stop)) {
        throw new InvalidArgumentError('A stop string holds half a surrogate pair, which is not a character.', {
          details: { stop },
        });
      }
    }
    this.#stops = [...new Set(stops)];
  }

  /** Takes the next piece. Returns the text that is safe to show, or the match that ends the text. */
  push(piece: string): string | StopMatch {
    const text = this.#held + piece;
    let end = Number.POSITIVE_INFINITY;
    let found: string | undefined;
    for (const stop of this.#stops) {
      const at = text.indexOf(stop);
      if (at < 0) continue;
      const stopEnd = at + stop.length;
      if (stopEnd < end || (stopEnd === end && stop.length > found!.length)) {
        end = stopEnd;
        found = stop;
      }
    }
    if (found !== undefined) {
      this.#held = '';
      return { text: text.slice(0, end - found.length), stopSequence: found };
    }
    const numHeld = this.#numHeld(text);
    this.#held = text.slice(text.length - numHeld);
    return text.slice(0, text.length - numHeld);
  }

  /** The text has ended: what was held back was no stop string after all. */
  flush(): string {
    const held = this.#held;
    this.#held = '';
    return held;
  }

  /** Length of the longest end of `text` that some stop string begins with. */
  #numHeld(text: string): number {
    let longest = 0;
    for (const stop of this.#stops) {
      for (let length = Math.min(stop.length - 1, text.length); length > longest; length--) {
        if (text.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }
}
