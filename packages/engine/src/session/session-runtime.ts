import { type Executable, type HearthError, InvalidArgumentError, type Program, type WeightDtype } from '@hearth/core';
import type { SpeculationOptions, TargetModel } from '@hearth/speculative';
import { BlockPool } from '../cache/block-pool.ts';
import { PrefixCache } from '../cache/prefix-cache.ts';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import type { StreamingDetokenizer } from '../generate/completion.ts';
import { GenerationStatistics } from '../generate/generation-statistics.ts';
import { kvBytesPerToken } from '../model/model-info.ts';
import type { StorageTypes } from '../profile/op-work.ts';
import { ChunkSizer } from '../schedule/chunk-sizer.ts';
import { Scheduler } from '../schedule/scheduler.ts';
import { type LoopKind, TaskLoop } from '../step/task-loop.ts';
import { checkTokens } from './check-tokens.ts';
import { Sequence } from './sequence.ts';
import type { CreateSessionOptions } from './session.ts';

export interface SessionRuntimeOptions {
  /** Of the model (`modelFingerprint`), for sessions in files. */
  readonly fingerprint: string;
  /** Positions that a session may have, at most those of the program. */
  readonly contextLength: number;
  /** Tokens that end a generation. */
  readonly eosTokenIds: ReadonlySet<number>;
  /** Types that the weights of the program are computed with, by id. */
  readonly weightDtypes: readonly WeightDtype[];
  /** Whether the backend samples within its steps (`BackendInfo.canSampleInStep`). */
  readonly samplesInStep: boolean;
  /** Most tokens in one step. */
  readonly maxTokensPerStep: number;
  /** Most output rows in one step. */
  readonly maxOutputRows: number;
  /** Most sequences in one step. */
  readonly maxSequences: number;
  /** Most requests that wait for their turn. */
  readonly maxQueued: number;
  /** How long the prefill part of a step may take while others wait, in milliseconds. */
  readonly prefillTimeMs: number;
  /** Whether prompts may begin with blocks that earlier requests have computed. */
  readonly prefixCache: boolean;
  readonly loop: LoopKind;
  /** Check that every block is accounted for after every step. */
  readonly checkIntegrity: boolean;
  /** Of generations that do not say otherwise. */
  readonly speculation: SpeculationOptions | undefined;
  /** The model, for those who guess its tokens. */
  readonly speculationTarget: TargetModel | undefined;
  /** For a completion: special tokens have no text, but for those that are to be shown. */
  createDetokenizer(shownSpecialTokens: ReadonlySet<number>): StreamingDetokenizer;
}

/** What the sessions of one model share: the executable with its blocks, and the loop that runs it. */
export interface SessionRuntime extends Omit<SessionRuntimeOptions, 'loop'> {
  readonly executable: Executable;
  readonly loop: TaskLoop;
  readonly scheduler: Scheduler;
  readonly pool: BlockPool;
  /** Positions of a block. */
  readonly blockSize: number;
  /** Undefined where it is switched off. */
  readonly prefixes: PrefixCache | undefined;
  readonly statistics: GenerationStatistics;
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
  const { maxSequences, maxQueued, maxTokensPerStep, maxOutputRows, prefillTimeMs } = options;
  const pool = new BlockPool(cache.numBlocks);
  const sequences = new Set<Sequence>();
  const chunkSizer = new ChunkSizer({ targetMs: prefillTimeMs, maxTokens: maxTokensPerStep });
  const scheduler = new Scheduler({
    pool,
    blockSize: cache.blockSize,
    chunkSizer,
    sequences,
    maxSequences,
    maxQueued,
    maxTokensPerStep,
    maxOutputRows,
    sharesPrefixes: options.prefixCache,
  });
  const runtime: SessionRuntime = {
    ...options,
    createDetokenizer: (shownSpecialTokens) => options.createDetokenizer(shownSpecialTokens),
    executable,
    scheduler,
    loop: new TaskLoop({
      executable,
      scheduler,
      pool,
      chunkSizer,
      kind: options.loop,
      // Guesses are worth no longer a wait than a chunk of prefill.
      patienceMs: prefillTimeMs,
      onStep: options.checkIntegrity ? () => checkBlockIntegrity(runtime) : undefined,
    }),
    pool,
    blockSize: cache.blockSize,
    statistics: new GenerationStatistics(),
    prefixes: options.prefixCache ? new PrefixCache(pool, cache.blockSize) : undefined,
    program,
    vocabSize: program.vocabSize,
    storageTypes: {
      weightDtypes: options.weightDtypes,
      cacheBytesPerPosition: program.cacheLayers.map((layer) => kvBytesPerToken([layer], cache.dtype)),
    },
    sequences,
    sessions: new Set(),
  };
  return runtime;
}

/** Enough for any name or digest. Files of sessions hold it in their header. */
const mostSaltLength = 1024;

/**
 * A sequence of these tokens that belongs to nobody yet.
 * @throws ContextLengthError | InvalidArgumentError for tokens, an anchor or a salt that make no sense
 */
export function newSequence(runtime: SessionRuntime, options: CreateSessionOptions): Sequence {
  const { tokenIds = [], anchor = 0, cacheSalt = '' } = options;
  checkTokens(tokenIds, 0, runtime);
  if (!Number.isInteger(anchor) || anchor < 0 || anchor > tokenIds.length) {
    throw new InvalidArgumentError(
      `anchor must be a whole number from 0 to the ${tokenIds.length} tokens of the new session, got ${anchor}.`,
    );
  }
  if (typeof cacheSalt !== 'string' || cacheSalt.length > mostSaltLength) {
    const received = typeof cacheSalt === 'string' ? `${cacheSalt.length} characters` : typeof cacheSalt;
    throw new InvalidArgumentError(
      `cacheSalt must be a string of at most ${mostSaltLength} characters, got ${received}.`,
    );
  }
  const sequence = emptySequence(runtime, cacheSalt, anchor);
  sequence.append(tokenIds);
  return sequence;
}

/** One without tokens, for whoever has checked what it will hold. */
export function emptySequence({ pool, blockSize, prefixes }: SessionRuntime, salt: string, anchor: number): Sequence {
  return new Sequence(new SequenceBlocks(pool, blockSize, prefixes, salt), anchor);
}

/**
 * Checks that every block is free, cached, or in the tables of as many sequences as are counted for it. Cheap enough to run
 * after every step.
 * @throws Error naming the first block that is not
 */
export function checkBlockIntegrity({ pool, prefixes, sequences }: SessionRuntime): void {
  prefixes?.checkIntegrity();
  pool.checkIntegrity([...sequences].flatMap((sequence) => sequence.blocks.table));
}
