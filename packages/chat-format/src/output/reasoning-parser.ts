import { MarkerFinder } from './marker-finder.ts';
import { isBlankUnit } from './white-space.ts';

/**
 * How the prompt leaves the reasoning block to the model: `open` if the template has written `<think>` already, `closed`
 * if the model opens it itself or leaves it out.
 */
export type ReasoningBlock = 'open' | 'closed';

/** Text of the two kinds in one piece of an output; reasoning comes first. */
export interface SplitText {
  reasoning: string;
  content: string;
}

/** What stands around the block in which a model thinks. */
export const reasoningMarkers = { begin: '<think>', end: '</think>' } as const;

/** Whether models with this template think between `<think>` and `</think>` before they answer. */
export function detectReasoning(template: string): boolean {
  return template.includes(reasoningMarkers.begin) || template.includes(reasoningMarkers.end);
}

/** How a rendered prompt leaves the reasoning block. */
export function reasoningBlockAfter(prompt: string): ReasoningBlock {
  return prompt.trimEnd().endsWith(reasoningMarkers.begin) ? 'open' : 'closed';
}

/**
 * Splits a text that comes in pieces into a reasoning block at its very beginning and the content after it. `<think>` in
 * the middle of an answer is text. White space next to the markers is left out; a block without an end is all reasoning.
 */
export class ReasoningParser {
  #state: 'at start' | 'at block' | 'in block' | 'at content' | 'in content' = 'at start';
  #marker = new MarkerFinder(reasoningMarkers.begin);
  /** What text is that comes instead of `<think>`. */
  readonly #isOpen: boolean;

  constructor(block: ReasoningBlock) {
    this.#isOpen = block === 'open';
  }

  /** Whether the text so far ends within the block, or may: a block that the prompt has opened begins with the text. */
  get isReasoning(): boolean {
    return this.#state === 'at block' || this.#state === 'in block' || (this.#state === 'at start' && this.#isOpen);
  }

  push(text: string): SplitText {
    const split: SplitText = { reasoning: '', content: '' };
    for (let at = 0; at < text.length; at++) {
      if (this.#state === 'in content') {
        split.content += text.slice(at);
        break;
      }
      this.#pushUnit(text[at] as string, split);
    }
    return split;
  }

  /** Releases what was held back. Nothing may follow. */
  finish(): SplitText {
    const held = this.#marker.take();
    return this.#state === 'in block' || (this.#state === 'at start' && this.#isOpen)
      ? { reasoning: held, content: '' }
      : { reasoning: '', content: held };
  }

  #pushUnit(unit: string, split: SplitText): void {
    if (this.#state === 'at block' || this.#state === 'at content') {
      if (isBlankUnit(unit)) return;
      this.#state = this.#state === 'at block' ? 'in block' : 'in content';
    }
    if (this.#state === 'in content') {
      split.content += unit;
      return;
    }
    const text = this.#marker.push(unit);
    if (this.#marker.isFound) {
      split.reasoning += text;
      this.#marker = new MarkerFinder(reasoningMarkers.end);
      this.#state = this.#state === 'at start' ? 'at block' : 'at content';
    } else if (this.#state === 'in block') {
      split.reasoning += text;
    } else if (text !== '') {
      this.#beginWithout(text + this.#marker.take(), split);
    }
  }

  /** The text does not begin with `<think>`. */
  #beginWithout(text: string, split: SplitText): void {
    if (!this.#isOpen) {
      split.content += text;
      this.#state = 'in content';
      return;
    }
    this.#marker = new MarkerFinder(reasoningMarkers.end);
    this.#state = 'at block';
    for (const unit of text.split('')) this.#pushUnit(unit, split);
  }
}
