import type { Batch } from '@hearth/core';
import type { StepShape } from '@hearth/engine';

/** A step to measure: so many sequences that each bring so many tokens, and want the logits of all of them. */
export interface MeasuredShape {
  readonly sequences: number;
  readonly tokensEach: number;
}

/** `8`: a token of each of 8 sequences. `1x5`: 5 tokens of one, as a guess that is verified. */
export function parseShape(text: string): MeasuredShape {
  const [, sequences, tokensEach = '1'] = /^(\d+)(?:x(\d+))?$/.exec(text) ?? [];
  const shape = { sequences: Number(sequences), tokensEach: Number(tokensEach) };
  if (shape.sequences >= 1 && shape.tokensEach >= 1) return shape;
  throw new Error(`A step is a number of sequences, 8, or sequences and tokens of each, 1x5; got ${text}.`);
}

export function nameOf({ sequences, tokensEach }: MeasuredShape): string {
  return tokensEach === 1 ? `${sequences}` : `${sequences} x ${tokensEach}`;
}

/** Sequence s has blocks of its own, as many as `context` positions and its tokens behind them take. */
export function batchOf(
  { sequences, tokensEach }: MeasuredShape,
  context: number,
  { blockSize, numGroups }: { readonly blockSize: number; readonly numGroups: number },
): Batch {
  const numTokens = sequences * tokensEach;
  const maxBlocks = Math.ceil((context + tokensEach) / blockSize);
  const blocks = Int32Array.from({ length: sequences * maxBlocks }, (_, i) => i);
  return {
    tokenIds: Int32Array.from({ length: numTokens }, (_, i) => 3 + ((i * 37) % 240)),
    positions: Int32Array.from({ length: numTokens }, (_, i) => context + (i % tokensEach)),
    cuSeqlensQ: Int32Array.from({ length: sequences + 1 }, (_, s) => s * tokensEach),
    contextLens: new Int32Array(sequences).fill(context + tokensEach),
    blockTables: Array.from({ length: numGroups }, () => ({ blocks, maxBlocks })),
    outputRows: Int32Array.from({ length: numTokens }, (_, i) => i),
  };
}

/** The same for counting its work. */
export function stepShapeOf({ sequences, tokensEach }: MeasuredShape, context: number): StepShape {
  const each = { numTokens: tokensEach, contextLength: context + tokensEach };
  return { numOutputRows: sequences * tokensEach, sequences: Array.from({ length: sequences }, () => each) };
}
