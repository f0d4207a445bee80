import { LimitExceededError } from '@hearth/core';

/** Longest list that a template may make, `range()` among them. */
const maxItems = 1_000_000;
/** Deepest nesting of blocks, macros that call themselves among them. Python gives up at a similar depth. */
const maxDepth = 400;

/**
 * Bounds what a template builds. The heap limit of a worker cannot do this alone: V8 ends the whole process when one
 * allocation is larger than what is left, so no string or list of a template may ever get that large.
 */
export class Budget {
  readonly #maxOutput: number;
  readonly #maxString: number;
  #depth = 0;

  /**
   * @param maxOutput longest rendered text, in UTF-16 units
   * @param inputLength length of the texts that the template is given, which it may copy
   */
  constructor(maxOutput: number, inputLength: number) {
    this.#maxOutput = maxOutput;
    this.#maxString = 2 * Math.max(maxOutput, inputLength) + 2 ** 16;
  }

  checkOutput(length: number): void {
    if (length > this.#maxOutput) throw exceeded('output', 'text', 'characters', this.#maxOutput);
  }

  /** To be asked before a string of this length is made. */
  checkString(length: number): void {
    if (length > this.#maxString) throw exceeded('string', 'a string', 'characters', this.#maxString);
  }

  /** To be called at the start of a block, and `leaveBlock` at its end. */
  enterBlock(): void {
    if (++this.#depth > maxDepth) throw exceeded('depth', 'a nesting', 'blocks', maxDepth);
  }

  leaveBlock(): void {
    this.#depth--;
  }

  /** To be asked before a list of this length is made. */
  checkItems(count: number): void {
    if (count > maxItems) throw exceeded('items', 'a list', 'items', maxItems);
  }
}

function exceeded(limit: string, what: string, unit: string, maximum: number): LimitExceededError {
  return new LimitExceededError(`The chat template made ${what} of more than ${maximum} ${unit} and was stopped.`, {
    details: { limit, maximum },
  });
}
