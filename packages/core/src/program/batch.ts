import { InvalidArgumentError } from '../errors/errors.ts';
import type { Program } from './program.ts';

/**
 * The ragged work of one step: prefill chunks, single decode tokens and speculative runs of any number of sequences, side
 * by side. There is no phase flag.
 *
 * Sequence s owns tokens [cuSeqlensQ[s], cuSeqlensQ[s + 1]). Its positions ascend by one and end at contextLens[s] − 1, so
 * a token sees the cache below its position and the tokens of the same step before it.
 */
export interface Batch {
  /** [numTokens] */
  readonly tokenIds: Int32Array;
  /** [numTokens] */
  readonly positions: Int32Array;
  /** [numSequences + 1], from 0 to numTokens, strictly ascending. */
  readonly cuSeqlensQ: Int32Array;
  /** [numSequences] positions that are in the cache once the step has run. */
  readonly contextLens: Int32Array;
  /** One per cache group of the program. */
  readonly blockTables: readonly BlockTable[];
  /** Tokens of the step whose outputs are wanted, ascending. */
  readonly outputRows: Int32Array;
}

/** Position p of sequence s lies in block `blocks[s · maxBlocks + floor(p / blockSize)]` at offset p mod blockSize. */
export interface BlockTable {
  /** [numSequences, maxBlocks]; entries past a sequence's last block are not read. */
  readonly blocks: Int32Array;
  readonly maxBlocks: number;
}

export interface BatchLimits {
  readonly maxTokens: number;
  readonly maxOutputRows: number;
  readonly blockSize: number;
  readonly numBlocks: number;
}

/**
 * Checks a batch against the program and the executable's limits. Every backend calls it before a step.
 * @throws InvalidArgumentError that names the field, the place and the value
 */
export function checkBatch(batch: Batch, program: Program, limits: BatchLimits): void {
  const { tokenIds, positions, cuSeqlensQ, contextLens, blockTables, outputRows } = batch;
  const numTokens = tokenIds.length;
  const numSequences = cuSeqlensQ.length - 1;
  const fail = (message: string): never => {
    throw new InvalidArgumentError(`Invalid batch: ${message}`);
  };
  if (numTokens < 1 || numTokens > limits.maxTokens)
    fail(`it has ${numTokens} tokens, allowed are 1 to ${limits.maxTokens}.`);
  if (positions.length !== numTokens) fail(`positions has ${positions.length} entries for ${numTokens} tokens.`);
  if (numSequences < 1 || cuSeqlensQ[0] !== 0 || cuSeqlensQ[numSequences] !== numTokens) {
    fail(`cuSeqlensQ must go from 0 to ${numTokens}.`);
  }
  if (contextLens.length !== numSequences)
    fail(`contextLens has ${contextLens.length} entries for ${numSequences} sequences.`);
  if (blockTables.length !== program.cacheGroups.length) {
    fail(`it has ${blockTables.length} block tables, the program has ${program.cacheGroups.length} cache groups.`);
  }
  for (let t = 0; t < numTokens; t++) {
    if (tokenIds[t]! < 0 || tokenIds[t]! >= program.vocabSize) {
      fail(`token id ${tokenIds[t]} at ${t} is outside the vocabulary of ${program.vocabSize}.`);
    }
  }
  for (let s = 0; s < numSequences; s++) {
    const start = cuSeqlensQ[s]!;
    const end = cuSeqlensQ[s + 1]!;
    if (end <= start || end > numTokens)
      fail(`cuSeqlensQ must ascend strictly, sequence ${s} goes from ${start} to ${end}.`);
    const contextLen = contextLens[s]!;
    if (contextLen < end - start || contextLen > program.contextLength) {
      fail(`sequence ${s} has a context of ${contextLen}, allowed are ${end - start} to ${program.contextLength}.`);
    }
    for (let t = start; t < end; t++) {
      const expected = contextLen - (end - t);
      if (positions[t] !== expected) fail(`token ${t} has position ${positions[t]}, expected ${expected}.`);
    }
    const blocksNeeded = Math.ceil(contextLen / limits.blockSize);
    for (const [group, table] of blockTables.entries()) {
      if (table.maxBlocks < blocksNeeded || table.blocks.length !== table.maxBlocks * numSequences) {
        fail(`block table ${group} has ${table.maxBlocks} columns, sequence ${s} needs ${blocksNeeded}.`);
      }
      for (let b = 0; b < blocksNeeded; b++) {
        const block = table.blocks[s * table.maxBlocks + b]!;
        if (block < 0 || block >= limits.numBlocks) {
          fail(`block table ${group} names block ${block} for sequence ${s}; there are ${limits.numBlocks}.`);
        }
      }
    }
  }
  if (outputRows.length > limits.maxOutputRows) {
    fail(`${outputRows.length} output rows are wanted, the limit is ${limits.maxOutputRows}.`);
  }
  for (let r = 0; r < outputRows.length; r++) {
    const row = outputRows[r]!;
    if (row < 0 || row >= numTokens || (r > 0 && row <= outputRows[r - 1]!)) {
      fail(`outputRows must ascend strictly within 0 to ${numTokens - 1}, got ${row} at ${r}.`);
    }
  }
}
