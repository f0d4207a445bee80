import type { Batch, Executable, StepOptions, StepResult } from '@hearth/core';

/** A part of one sequence in a step. */
export interface SequencePart {
  readonly tokenIds: readonly number[];
  /** Position of the first token. */
  readonly start: number;
  readonly blocks: readonly number[];
  /** Tokens of the part whose outputs are wanted; the last one unless given. */
  readonly outputs?: readonly number[];
}

export function makeBatch(parts: readonly SequencePart[], numGroups = 1): Batch {
  const cuSeqlensQ = [0];
  const outputRows: number[] = [];
  for (const { tokenIds, outputs } of parts) {
    const first = cuSeqlensQ.at(-1)!;
    outputRows.push(...(outputs ?? [tokenIds.length - 1]).map((row) => first + row));
    cuSeqlensQ.push(first + tokenIds.length);
  }
  const maxBlocks = Math.max(...parts.map(({ blocks }) => blocks.length));
  const blocks = Int32Array.from(
    parts.flatMap((part) => Array.from({ length: maxBlocks }, (_, i) => part.blocks[i] ?? -1)),
  );
  return {
    tokenIds: Int32Array.from(parts.flatMap(({ tokenIds }) => tokenIds)),
    positions: Int32Array.from(parts.flatMap(({ tokenIds, start }) => tokenIds.map((_, i) => start + i))),
    cuSeqlensQ: Int32Array.from(cuSeqlensQ),
    contextLens: Int32Array.from(parts.map(({ tokenIds, start }) => start + tokenIds.length)),
    blockTables: Array.from({ length: numGroups }, () => ({ blocks, maxBlocks })),
    outputRows: Int32Array.from(outputRows),
  };
}

/** Blocks 0 … n − 1, enough for `numPositions`. */
export function firstBlocks(executable: Executable, numPositions: number): number[] {
  return Array.from({ length: Math.ceil(numPositions / executable.cache.blockSize) }, (_, i) => i);
}

/** Runs the tokens in chunks of at most `chunk` and gives the last chunk's result. */
export async function prefill(
  executable: Executable,
  tokenIds: readonly number[],
  {
    chunk = tokenIds.length,
    blocks = firstBlocks(executable, tokenIds.length),
    ...step
  }: StepOptions & { chunk?: number; blocks?: readonly number[] } = {},
): Promise<StepResult> {
  let result: StepResult = {};
  for (let start = 0; start < tokenIds.length; start += chunk) {
    const part = { tokenIds: tokenIds.slice(start, start + chunk), start, blocks };
    result = await executable.step(makeBatch([part]), step);
  }
  return result;
}

/** `length` token ids without a pattern. */
export function someTokens(length: number, vocabSize = 96): number[] {
  return Array.from({ length }, (_, i) => (i * 31 + ((i * i) % 17)) % vocabSize);
}
