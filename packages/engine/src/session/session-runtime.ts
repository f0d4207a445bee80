import type { Executable, HearthError, Program, WeightDtype } from '@hearth/core';
import { BlockPool } from '../cache/block-pool.ts';
import type { StreamingDetokenizer } from '../generate/completion.ts';
import { kvBytesPerToken } from '../model/model-info.ts';
import type { StorageTypes } from '../profile/op-work.ts';
import { StepLoop } from '../step/step-loop.ts';
import type { Sequence } from './sequence.ts';

export interface SessionRuntimeOptions {
  /** Positions that a session may have, at most those of the program. */
  readonly contextLength: number;
  /** Tokens that end a generation. */
  readonly eosTokenIds: ReadonlySet<number>;
  /** Most tokens in one step. */
  readonly chunkTokens: number;
  /** Most output rows in one step. */
  readonly maxOutputRows: number;
  /** Types that the weights of the program are computed with, by id. */
  readonly weightDtypes: readonly WeightDtype[];
  /** Whether the backend samples within its steps (`BackendInfo.canSampleInStep`). */
  readonly samplesInStep: boolean;
  createDetokenizer(): StreamingDetokenizer;
}

/** What the sessions of one model share: the executable with its blocks, and the loop that runs it. */
export interface SessionRuntime extends SessionRuntimeOptions {
  readonly loop: StepLoop;
  readonly pool: BlockPool;
  readonly blockSize: number;
  readonly program: Program;
  readonly vocabSize: number;
  /** For profiles. */
  readonly storageTypes: StorageTypes;
  /** Every sequence that may hold blocks. */
  readonly sequences: Set<Sequence>;
  /** How to end each session that there is, for a reason that its work rejects with. */
  readonly sessions: Set<(reason: HearthError) => Promise<void>>;
}

export function createSessionRuntime(executable: Executable, options: SessionRuntimeOptions): SessionRuntime {
  const { cache, program } = executable;
  const pool = new BlockPool(cache.numBlocks);
  const sequences = new Set<Sequence>();
  return {
    ...options,
    createDetokenizer: () => options.createDetokenizer(),
    loop: new StepLoop(executable, pool, sequences),
    pool,
    blockSize: cache.blockSize,
    program,
    vocabSize: program.vocabSize,
    storageTypes: {
      weightDtypes: options.weightDtypes,
      cacheBytesPerPosition: program.cacheLayers.map((layer) => kvBytesPerToken([layer], cache.dtype)),
    },
    sequences,
    sessions: new Set(),
  };
}

/** Checks that every reference to a block is that of a sequence. For tests, and cheap enough to run at any time. */
export function checkBlockIntegrity({ pool, sequences }: SessionRuntime): void {
  pool.checkIntegrity([...sequences].flatMap((sequence) => sequence.blocks.table));
}
