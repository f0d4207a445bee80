import { type Batch, NumericError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { BlockPool } from '../cache/block-pool.ts';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import { CacheExhaustedError } from '../errors.ts';
import { Sequence } from '../session/sequence.ts';
import { FakeBackend } from '../test/fake-backend.ts';
import { fakeProgram } from '../test/fake-program.ts';
import { PreemptedError, StepLoop } from './step-loop.ts';

const vocabSize = 32;
const never = new AbortController().signal;

async function setUp(numBlocks = 8) {
  const backend = new FakeBackend({ next: (context) => (context.reduce((sum, id) => sum + id, 0) + 1) % vocabSize });
  const weights = await backend.loadWeights([], new Map());
  const executable = await backend.compile(fakeProgram({ vocabSize, contextLength: 64 }), weights, {
    maxTokens: 8,
    maxOutputRows: 4,
    cache: { dtype: 'f16', blockSize: 16, numBlocks },
  });
  const pool = new BlockPool(numBlocks);
  const sequences = new Set<Sequence>();
  const newSequence = (tokenIds: number[]) => {
    const sequence = new Sequence(new SequenceBlocks(pool, 16));
    sequence.append(tokenIds);
    sequence.activeSince = sequences.size;
    sequences.add(sequence);
    return sequence;
  };
  return { backend, pool, loop: new StepLoop(executable, pool, sequences), newSequence };
}

/** The first token of each sequence of a batch, to tell the sequences apart. */
const firstTokens = (batches: readonly Batch[]) => batches.map((batch) => batch.tokenIds[0]);

describe('StepLoop', () => {
  it('runs a step, counts its tokens as cached and hands out the logits of the wanted rows', async () => {
    const { loop, newSequence } = await setUp();
    const sequence = newSequence([1, 2, 3, 4]);
    let best: number[] = [];
    await loop.run(
      { sequence, numTokens: 3, outputs: 'all' },
      {
        signal: never,
        onLogits: (logits) => {
          best = [0, 1, 2].map((row) => logits.indexOf(8, row * vocabSize) - row * vocabSize);
        },
      },
    );
    expect(best).toEqual([2, 4, 7]);
    expect(sequence.numCachedTokens).toBe(3);
  });

  it('lets sequences take turns, one step each', async () => {
    const { backend, loop, newSequence } = await setUp();
    const work = async (first: number) => {
      const sequence = newSequence([first, first, first]);
      for (let i = 0; i < 3; i++) await loop.run({ sequence, numTokens: 1, outputs: 'last' }, { signal: never });
    };
    await Promise.all([work(1), work(2), work(3)]);
    expect(firstTokens(backend.batches)).toEqual([1, 2, 3, 1, 2, 3, 1, 2, 3]);
  });

  it('gives timers a turn between steps though the backend answers at once', async () => {
    const { backend, loop, newSequence } = await setUp();
    let stepsBeforeImmediate = Number.NaN;
    setImmediate(() => {
      stepsBeforeImmediate = backend.batches.length;
    });
    const sequence = newSequence([1, 2, 3, 4, 5, 6]);
    for (let i = 0; i < 6; i++) await loop.run({ sequence, numTokens: 1, outputs: 'none' }, { signal: never });
    expect(stepsBeforeImmediate).toBeLessThan(3);
  });

  it('takes a step out of the queue when its signal fires', async () => {
    const { backend, loop, newSequence } = await setUp();
    let release = () => {};
    backend.beforeStep = () => new Promise<void>((resolve) => (release = resolve));
    const running = loop.run({ sequence: newSequence([1]), numTokens: 1, outputs: 'none' }, { signal: never });
    const controller = new AbortController();
    const waiting = loop.run({ sequence: newSequence([2]), numTokens: 1, outputs: 'none' }, controller);
    await new Promise(setImmediate);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    release();
    await running;
    await loop.idle();
    expect(firstTokens(backend.batches)).toEqual([1]);
  });

  it('leaves the sequence as it was when a step fails, and goes on with the others', async () => {
    const { backend, loop, pool, newSequence } = await setUp();
    backend.beforeStep = (batch) => {
      if (batch.tokenIds[0] === 1) throw new NumericError('lm_head', 'lm_head produced NaN.');
    };
    const failing = newSequence([1]);
    const other = newSequence([2]);
    const [failed, done] = await Promise.allSettled([
      loop.run({ sequence: failing, numTokens: 1, outputs: 'last' }, { signal: never }),
      loop.run({ sequence: other, numTokens: 1, outputs: 'last' }, { signal: never }),
    ]);
    expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'numeric', op: 'lm_head' } });
    expect(done.status).toBe('fulfilled');
    expect([failing.numCachedTokens, failing.blocks.numBlocks]).toEqual([0, 0]);
    pool.checkIntegrity(other.blocks.table);
  });

  it('passes on what the receiver of the logits throws', async () => {
    const { loop, newSequence } = await setUp();
    const onLogits = () => {
      throw new Error('receiver');
    };
    const step = { sequence: newSequence([1]), numTokens: 1, outputs: 'last' } as const;
    await expect(loop.run(step, { signal: never, onLogits })).rejects.toThrow('receiver');
  });

  it('reclaims idle blocks', async () => {
    const { loop, newSequence } = await setUp(1);
    const [first, second] = [newSequence([1]), newSequence([2])];
    await loop.run({ sequence: first, numTokens: 1, outputs: 'none' }, { signal: never });
    first.activeSince = undefined;
    await loop.run({ sequence: second, numTokens: 1, outputs: 'none' }, { signal: never });
    expect([first.numCachedTokens, second.numCachedTokens]).toEqual([0, 1]);
  });

  it('lets a step wait for the blocks of an older sequence', async () => {
    const { loop, newSequence } = await setUp(1);
    const [older, younger] = [newSequence([1]), newSequence([2])];
    await loop.run({ sequence: older, numTokens: 1, outputs: 'none' }, { signal: never });
    const waiting = loop.run({ sequence: younger, numTokens: 1, outputs: 'none' }, { signal: never });
    await loop.idle();
    expect(younger.numCachedTokens).toBe(0);
    older.activeSince = undefined;
    loop.retryStalled();
    await waiting;
    expect(younger.numCachedTokens).toBe(1);
  });

  it('lets a step that waits for blocks be aborted', async () => {
    const { loop, newSequence } = await setUp(1);
    const [older, younger] = [newSequence([1]), newSequence([2])];
    await loop.run({ sequence: older, numTokens: 1, outputs: 'none' }, { signal: never });
    const controller = new AbortController();
    const waiting = loop.run({ sequence: younger, numTokens: 1, outputs: 'none' }, controller);
    await loop.idle();
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('takes the blocks of a younger sequence, whose queued step comes back', async () => {
    const { loop, pool, newSequence } = await setUp(2);
    const [older, younger] = [newSequence(Array.from({ length: 17 }, () => 1)), newSequence([2, 3])];
    await loop.run({ sequence: younger, numTokens: 1, outputs: 'none' }, { signal: never });
    for (let i = 0; i < 2; i++) await loop.run({ sequence: older, numTokens: 8, outputs: 'none' }, { signal: never });
    const [hasRun, preempted] = await Promise.allSettled([
      loop.run({ sequence: older, numTokens: 1, outputs: 'none' }, { signal: never }),
      loop.run({ sequence: younger, numTokens: 1, outputs: 'none' }, { signal: never }),
    ]);
    expect(hasRun.status).toBe('fulfilled');
    expect(preempted).toMatchObject({ status: 'rejected', reason: expect.any(PreemptedError) });
    expect([older.numCachedTokens, younger.numCachedTokens]).toEqual([17, 0]);
    pool.checkIntegrity(older.blocks.table);
  });

  it('fails a step that the whole cache is too small for', async () => {
    const { loop, newSequence } = await setUp(1);
    const sequence = newSequence(Array.from({ length: 17 }, () => 1));
    for (let i = 0; i < 2; i++) await loop.run({ sequence, numTokens: 8, outputs: 'none' }, { signal: never });
    const run = loop.run({ sequence, numTokens: 1, outputs: 'none' }, { signal: never });
    await expect(run).rejects.toThrow(CacheExhaustedError);
    expect(sequence.numCachedTokens).toBe(16);
  });
});
