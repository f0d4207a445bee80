import { AbortError, DisposedError, HearthError, NumericError } from '@hearth/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Generation } from '../generate/generation.ts';
import type { FakeBackend } from '../test/fake-backend.ts';
import { fakeSessions } from '../test/fake-sessions.ts';
import { hashScript } from '../test/scripts.ts';
import { Session } from './session.ts';
import { checkBlockIntegrity, type SessionRuntime } from './session-runtime.ts';

const greedy = { temperature: 0, maxTokens: 3 } as const;

let backend: FakeBackend;
let runtime: SessionRuntime;
let session: Session;

beforeEach(async () => {
  ({ backend, runtime } = await fakeSessions({ next: hashScript() }));
  session = new Session(runtime, { tokenIds: [1, 2, 3] });
});

afterEach(async () => {
  backend.beforeStep = undefined;
  await runtime.loop.idle();
  checkBlockIntegrity(runtime);
});

/** Every method that does something, called with arguments that are right. */
const methods: Record<string, (session: Session) => unknown> = {
  extend: (session) => session.extend([4]),
  truncate: (session) => session.truncate(session.length),
  prefill: (session) => session.prefill(),
  forward: (session) => session.forward([4]),
  generate: (session) => session.generate(greedy).result,
};

/** Ways to get a session into a state in which methods are called. */
const states: Record<string, () => Promise<{ expected: string; leave?: () => Promise<unknown> }>> = {
  async generating() {
    const hold = holdSteps();
    const generation = session.generate(greedy);
    await hold.reached;
    return { expected: 'session_busy', leave: () => generation.cancel() };
  },
  async prefilling() {
    const hold = holdSteps();
    const controller = new AbortController();
    const prefill = session.prefill(controller);
    await hold.reached;
    return {
      expected: 'session_busy',
      leave: () => {
        controller.abort();
        return prefill.catch(() => {});
      },
    };
  },
  async 'after an abort'() {
    const hold = holdSteps();
    const controller = new AbortController();
    const generation = session.generate({ ...greedy, signal: controller.signal });
    await hold.reached;
    controller.abort();
    await expect(generation.result).rejects.toThrow(AbortError);
    backend.beforeStep = undefined;
    return { expected: 'allowed' };
  },
  async 'after a failed step'() {
    backend.beforeStep = () => {
      throw new NumericError('lm_head', 'lm_head produced NaN.');
    };
    await expect(session.generate(greedy).result).rejects.toThrow(NumericError);
    backend.beforeStep = undefined;
    return { expected: 'allowed' };
  },
  async 'after leaving the loop'() {
    for await (const _ of session.generate(greedy)) break;
    return { expected: 'allowed' };
  },
  async disposed() {
    await session.dispose();
    return { expected: 'disposed' };
  },
  async 'being disposed'() {
    const hold = holdSteps();
    session.generate(greedy);
    await hold.reached;
    const disposed = session.dispose();
    return { expected: 'disposed', leave: () => disposed };
  },
};

/** Makes the next step wait until it is aborted. */
function holdSteps(): { reached: Promise<void> } {
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  backend.beforeStep = () => {
    reach();
    return new Promise(() => {});
  };
  return { reached };
}

async function outcome(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'allowed';
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error;
    return error.code;
  }
}

describe.each(Object.keys(states))('a session %s', (state) => {
  it.each(Object.keys(methods))('%s is allowed or refused as it should', async (method) => {
    const { expected, leave } = await states[state]!();
    const before = session.tokenIds;
    expect(await outcome(() => methods[method]!(session))).toBe(expected);
    if (expected !== 'allowed') expect(session.tokenIds).toEqual(before);
    await leave?.();
  });

  it('can be looked at, and disposed twice', async () => {
    const { leave } = await states[state]!();
    expect(session.length).toBe(session.tokenIds.length);
    expect(session.anchor).toBe(0);
    await Promise.all([session.dispose(), session.dispose()]);
    await session.dispose();
    expect(session.isDisposed).toBe(true);
    expect(runtime.pool.numFreeBlocks).toBe(runtime.pool.numBlocks);
    expect(runtime.sessions.size).toBe(0);
    await leave?.();
  });
});

describe('stopping', () => {
  async function iterate(generation: Generation): Promise<unknown> {
    try {
      for await (const _ of generation);
      return 'ended';
    } catch (error) {
      return error;
    }
  }

  it('ends with an AbortError in prefill, and keeps the chunks that were done', async () => {
    const controller = new AbortController();
    backend.beforeStep = (batch) => {
      if (batch.positions[0] === 16) controller.abort('enough');
    };
    session.extend(Array.from({ length: 40 }, (_, i) => i));
    const generation = session.generate({ ...greedy, signal: controller.signal });
    expect(await iterate(generation)).toMatchObject({ name: 'AbortError', cause: 'enough' });
    await expect(generation.result).rejects.toMatchObject({ name: 'AbortError' });
    expect([session.length, session.numCachedTokens]).toEqual([43, 16]);
    expect(backend.batches).toHaveLength(3);
  });

  it('ends with an AbortError in decode; the session has the tokens that were given', async () => {
    const controller = new AbortController();
    const generation = session.generate({ temperature: 0, signal: controller.signal });
    const tokenIds: number[] = [];
    await expect(async () => {
      for await (const event of generation) {
        tokenIds.push(event.tokenId);
        if (event.index === 4) controller.abort();
      }
    }).rejects.toThrow(AbortError);
    expect(session.tokenIds.slice(3, 3 + tokenIds.length)).toEqual(tokenIds);
    expect(session.length).toBeLessThanOrEqual(3 + tokenIds.length + 1);
  });

  it('does nothing with a signal that has fired before', async () => {
    const generation = session.generate({ ...greedy, signal: AbortSignal.abort() });
    await expect(generation.result).rejects.toThrow(AbortError);
    await expect(session.prefill({ signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
    expect(backend.batches).toHaveLength(0);
  });

  it('leaves no listener on the signal', async () => {
    const signal = new AbortController().signal;
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: unknown[]) => {
      listeners++;
      return (addEventListener as (...args: unknown[]) => void).apply(signal, args);
    };
    signal.removeEventListener = (...args: unknown[]) => {
      listeners--;
      return (removeEventListener as (...args: unknown[]) => void).apply(signal, args);
    };
    await session.generate({ ...greedy, signal }).result;
    expect(listeners).toBe(0);
  });

  it('stops working when the loop is left, and the result has what came', async () => {
    const generation = session.generate({ temperature: 0 });
    for await (const event of generation) if (event.index === 2) break;
    const steps = backend.batches.length;
    expect(session.isBusy).toBe(false);
    const result = await generation.result;
    expect(result.finishReason).toBe('cancelled');
    expect(result.usage.completionTokens).toBe(session.length - 3);
    expect(result.usage.completionTokens).toBeLessThan(6);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(backend.batches).toHaveLength(steps);
  });

  it('can be cancelled before it began, twice, and after it ended', async () => {
    const generation = session.generate(greedy);
    await Promise.all([generation.cancel(), generation.cancel()]);
    expect(await generation.result).toMatchObject({
      text: '',
      finishReason: 'cancelled',
      usage: { completionTokens: 0 },
    });
    const ended = session.generate(greedy);
    await ended.result;
    await ended.cancel();
    expect((await ended.result).finishReason).toBe('length');
  });

  it('ends a running generation with a DisposedError when its session goes', async () => {
    const generation = session.generate({ temperature: 0 });
    const iterated = iterate(generation);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await session.dispose();
    expect(await iterated).toBeInstanceOf(DisposedError);
    await expect(generation.result).rejects.toThrow(/session was disposed/);
  });

  it('passes a failed step on, and the next generation goes on where it stopped', async () => {
    const expected = (await session.generate({ temperature: 0, maxTokens: 6 }).result).tokenIds;
    session.truncate(3);
    backend.beforeStep = (batch) => {
      if (batch.positions[0] === 5) throw new NumericError('model.norm', 'model.norm produced NaN.');
    };
    const generation = session.generate({ temperature: 0, maxTokens: 6 });
    expect(await iterate(generation)).toMatchObject({ code: 'numeric', op: 'model.norm' });
    backend.beforeStep = undefined;
    const numGiven = session.length - 3;
    expect(numGiven).toBe(3);
    const rest = await session.generate({ temperature: 0, maxTokens: 3 }).result;
    expect([...session.tokenIds.slice(3, 6), ...rest.tokenIds]).toEqual(expected);
  });

  it('does not make an unhandled rejection of a result that nobody awaits', async () => {
    const unhandled: unknown[] = [];
    const listen = (error: unknown) => unhandled.push(error);
    process.on('unhandledRejection', listen);
    session.generate({ ...greedy, signal: AbortSignal.abort() });
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.off('unhandledRejection', listen);
    expect(unhandled).toEqual([]);
  });
});
