import { AbortError, DisposedError, InvalidArgumentError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ScriptDraft } from '../__fixtures__/script-draft.ts';
import { digits, vocabularyOf } from '../__fixtures__/vocabularies.ts';
import { countAccepted } from '../count-accepted.ts';
import { draftModel } from '../draft-model/draft-model.ts';
import { VocabularyMismatchError } from '../draft-model/vocabulary-mismatch-error.ts';
import { promptLookup } from '../prompt-lookup/prompt-lookup.ts';
import type { Proposer, TargetModel } from '../proposer.ts';
import { sumSpeculationStats } from './speculation-stats.ts';
import { Speculator } from './speculator.ts';

const target: TargetModel = { info: { vocabSize: 10 }, tokenizer: digits };

/** A proposer with one answer to everything. */
function always(guesses: readonly number[], name = 'always'): Proposer {
  return { name, start: () => ({ propose: () => guesses, dispose: async () => {} }) };
}

/** Guesses the same, a moment later. */
function later(guesses: readonly number[], name = 'later'): Proposer {
  return { name, start: () => ({ propose: async () => guesses, dispose: async () => {} }) };
}

/** A proposer that throws what it is given. */
function failing(error: unknown, name = 'failing'): Proposer {
  const propose = () => {
    throw error;
  };
  return { name, start: () => ({ propose, dispose: async () => {} }) };
}

/** Lets the next guesses stand until it may make as many as `maxTokens` allows. */
function ramped(speculator: Speculator): Speculator {
  for (let step = 0; step < 10; step++) {
    const guesses = speculator.propose([0], 1000) as readonly number[];
    speculator.record(guesses.length);
  }
  return speculator;
}

describe('a speculator', () => {
  it('takes the guesses of the first proposer that has any, and counts them for it', async () => {
    const speculator = new Speculator({
      proposers: [always([], 'none'), later([], 'none later'), always([1, 2]), later([3])],
    });
    expect(await speculator.propose([0], 4)).toEqual([1]);
    speculator.record(1);
    expect(await speculator.propose([0], 4)).toEqual([1, 2]);
    speculator.record(1);
    const { byProposer, ...total } = speculator.stats;
    const none = { attempts: 0, proposedTokens: 0, acceptedTokens: 0, pauses: 0, pausedSteps: 0, failures: 0 };
    const one = { ...none, attempts: 2, proposedTokens: 3, acceptedTokens: 2 };
    expect(total).toEqual(one);
    expect(byProposer).toEqual({ none, 'none later': none, always: one, later: none });
  });

  it('answers at once when its proposers do', () => {
    expect(new Speculator({ proposers: [promptLookup()] }).propose([1, 2, 1, 2], 2)).toEqual([1]);
    expect(new Speculator({ proposers: [] }).propose([1, 2, 1, 2], 2)).toEqual([]);
  });

  it('asks for no more than it may, and takes no more', () => {
    const asked: number[] = [];
    const propose = (_: readonly number[], maxTokens: number) => {
      asked.push(maxTokens);
      return [1, 2, 3, 4, 5, 6, 7];
    };
    const greedy: Proposer = { name: 'greedy', start: () => ({ propose, dispose: async () => {} }) };
    const speculator = ramped(new Speculator({ proposers: [greedy], maxTokens: 5 }));
    asked.length = 0;
    expect(speculator.propose([0], 3)).toEqual([1, 2, 3]);
    expect(speculator.propose([0], 100)).toEqual([1, 2, 3, 4, 5]);
    expect(speculator.propose([0], 0)).toEqual([]);
    expect(asked).toEqual([3, 5]);
  });

  it('cuts guesses off at an id that the model does not have', () => {
    for (const bad of [10, -1, 1.5, Number.NaN]) {
      const speculator = ramped(new Speculator({ proposers: [always([1, 2, bad, 3])] }, target));
      expect(speculator.propose([0], 4)).toEqual([1, 2]);
    }
    expect(new Speculator({ proposers: [always([10]), always([4])] }, target).propose([0], 4)).toEqual([4]);
  });

  it('guesses more while guesses stand, and fewer when not', () => {
    const speculator = new Speculator({ proposers: [always([1, 2, 3, 4, 5, 6, 7, 8, 9])] });
    const widths = Array.from({ length: 9 }, (_, step) => {
      const { length } = speculator.propose([0], 100) as readonly number[];
      speculator.record(step < 5 ? length : 0);
      return length;
    });
    expect(widths).toEqual([1, 2, 4, 8, 8, 8, 4, 2, 1]);
  });

  it('does not count guesses that were never verified', () => {
    const speculator = new Speculator({ proposers: [always([1])] });
    speculator.propose([0], 4);
    speculator.propose([0], 4);
    speculator.record(1);
    expect(speculator.stats).toMatchObject({ attempts: 1, proposedTokens: 1, acceptedTokens: 1 });
  });

  it('counts the guesses that were run, where not all of them were', () => {
    const speculator = ramped(new Speculator({ proposers: [always([1, 2, 3, 4])] }));
    const before = speculator.stats;
    expect(speculator.propose([0], 4)).toEqual([1, 2, 3, 4]);
    speculator.record(2, 3);
    speculator.propose([0], 4);
    speculator.record(0, 0);
    expect(speculator.stats).toMatchObject({
      attempts: before.attempts + 1,
      proposedTokens: before.proposedTokens + 3,
      acceptedTokens: before.acceptedTokens + 2,
    });
    speculator.propose([0], 4);
    expect(() => speculator.record(2, 1)).toThrow(InvalidArgumentError);
    expect(() => speculator.record(1, 5)).toThrow(InvalidArgumentError);
  });

  it('refuses records of what was not guessed', () => {
    const speculator = new Speculator({ proposers: [always([1])] });
    speculator.record(0);
    expect(() => speculator.record(1)).toThrow(InvalidArgumentError);
    speculator.propose([0], 4);
    for (const numAccepted of [-1, 2, 0.5, Number.NaN]) {
      expect(() => speculator.record(numAccepted)).toThrow(InvalidArgumentError);
    }
    speculator.record(1);
    expect(() => speculator.record(1)).toThrow(InvalidArgumentError);
    speculator.record(0);
    expect(speculator.stats.attempts).toBe(1);
  });

  it('pauses each proposer by its own guesses', () => {
    const poor = always([1], 'poor');
    const good = always([2], 'good');
    const speculator = new Speculator({ proposers: [poor, good], gate: { window: 2, pauseSteps: 3 } });
    const guessed = Array.from({ length: 12 }, () => {
      const [guess] = speculator.propose([0], 4) as number[];
      speculator.record(guess === 2 ? 1 : 0);
      return guess;
    });
    expect(guessed).toEqual([1, 1, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2]);
    expect(speculator.stats.byProposer).toMatchObject({
      poor: { attempts: 4, pauses: 2, pausedSteps: 8 },
      good: { attempts: 8, acceptedTokens: 8, pauses: 0, pausedSteps: 0 },
    });
  });

  it('guesses right without changing a text, whatever it guesses with', async () => {
    // The model that is guessed for: the next token depends on the last three.
    const next = (tokenIds: readonly number[]) => tokenIds.slice(-3).reduce((sum, id, i) => sum + id * (i + 1), 3) % 10;
    const draft = draftModel(new ScriptDraft((tokenIds) => (tokenIds.length % 3 === 0 ? 0 : next(tokenIds)), 60));
    const proposers = fc.constantFrom<Proposer[]>(
      [promptLookup()],
      [promptLookup({ minNgram: 1 }), draft],
      [draft],
      [failing(new Error('out of order')), always([7, 7])],
      [always([11]), later([3, 1])],
    );
    await fc.assert(
      fc.asyncProperty(
        proposers,
        fc.array(fc.nat(9), { minLength: 1 }),
        fc.integer({ min: 0, max: 9 }),
        async (chosen, prompt, maxTokens) => {
          const speculator = new Speculator({ proposers: chosen, gate: { pauseSteps: 2 } }, target);
          const text = prompt.slice();
          let numSteps = 0;
          while (text.length < prompt.length + 80) {
            const guesses = await speculator.propose(text, maxTokens);
            const rows = guesses.map((_, i) => next([...text, ...guesses.slice(0, i)]));
            const sampled = [...rows, next([...text, ...guesses])];
            const numAccepted = countAccepted(guesses, sampled);
            speculator.record(numAccepted);
            text.push(...sampled.slice(0, numAccepted + 1));
            numSteps++;
          }
          const plain = prompt.slice();
          while (plain.length < text.length) plain.push(next(plain));
          expect(text).toEqual(plain);
          expect(text.length - prompt.length).toBe(numSteps + speculator.stats.acceptedTokens);
          await speculator.dispose();
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('a proposer that fails', () => {
  it('is left out for a pause, and its failure is in the stats', () => {
    const speculator = new Speculator({
      proposers: [failing(new Error('no room')), always([5])],
      gate: { pauseSteps: 2 },
    });
    for (let step = 0; step < 4; step++) expect(speculator.propose([0], 4)).toEqual([5]);
    expect(speculator.stats).toMatchObject({ failures: 2, pauses: 2, pausedSteps: 2, lastFailure: 'no room' });
    expect(speculator.stats.byProposer.always).toMatchObject({ failures: 0 });
    expect(speculator.stats.byProposer.always).not.toHaveProperty('lastFailure');
  });

  it.each<[string, Proposer]>([
    ['throws no error', failing('a text')],
    [
      'rejects',
      { name: 'failing', start: () => ({ propose: () => Promise.reject('a text'), dispose: async () => {} }) },
    ],
    [
      'cannot start',
      {
        name: 'failing',
        start: () => {
          throw 'a text';
        },
      },
    ],
  ])('fails nothing else when it %s', async (_, proposer) => {
    const speculator = new Speculator({ proposers: [proposer, later([5])] });
    expect(await speculator.propose([0], 4)).toEqual([5]);
    expect(speculator.stats).toMatchObject({ failures: 1, lastFailure: 'a text' });
    await speculator.dispose();
  });

  it('fails nothing when its answer is no array', () => {
    const speculator = new Speculator({ proposers: [always(undefined as unknown as number[]), always([5])] });
    expect(speculator.propose([0], 4)).toEqual([5]);
    expect(speculator.stats.failures).toBe(1);
  });

  it('is asked again after the pause', async () => {
    const model = new ScriptDraft(() => 6);
    const speculator = new Speculator({ proposers: [draftModel(model)], gate: { pauseSteps: 1 } }, target);
    model.error = new DisposedError('model');
    expect(await speculator.propose([1], 2)).toEqual([]);
    model.error = undefined;
    expect(await speculator.propose([1], 2)).toEqual([]);
    expect(await speculator.propose([1], 2)).toEqual([6]);
  });

  it('does not hide that the caller has aborted', async () => {
    const controller = new AbortController();
    const model = new ScriptDraft(() => 6);
    model.wait = async () => controller.abort(new Error('enough'));
    const speculator = new Speculator({ proposers: [draftModel(model), always([5])] }, target);
    const error = await Promise.resolve(speculator.propose([1], 2, controller.signal)).catch((reason) => reason);
    expect(error).toBeInstanceOf(AbortError);
    expect(error.cause).toEqual(new Error('enough'));
    expect(() => new Speculator({ proposers: [failing(error)] }).propose([1], 2, controller.signal)).toThrow(
      AbortError,
    );
    expect(speculator.stats.failures).toBe(0);
  });

  it('is a failure like any other when it aborts by itself', () => {
    const speculator = new Speculator({ proposers: [failing(new AbortError())] });
    expect(speculator.propose([1], 2, new AbortController().signal)).toEqual([]);
    expect(speculator.stats.failures).toBe(1);
  });
});

describe('disposing', () => {
  it('frees every proposer that was started, once, and refuses further work', async () => {
    const model = new ScriptDraft(() => 6);
    const speculator = new Speculator({ proposers: [draftModel(model), failing(1)] }, target);
    await speculator.propose([1], 1);
    await speculator.dispose();
    await speculator.dispose();
    expect(model.sessions.map((session) => session.isDisposed)).toEqual([true]);
    expect(() => speculator.propose([1], 1)).toThrow(DisposedError);
    expect(speculator.stats.failures).toBe(0);
  });

  it('during an answer leaves no guesses, no failure and no other proposer at work', async () => {
    const model = new ScriptDraft(() => 6);
    const speculator = new Speculator({ proposers: [draftModel(model), draftModel(model)] }, target);
    const disposing: Promise<void>[] = [];
    model.wait = async () => void disposing.push(speculator.dispose());
    expect(await speculator.propose([1], 1)).toEqual([]);
    await Promise.all(disposing);
    expect(model.sessions.map((session) => session.isDisposed)).toEqual([true]);
    expect(speculator.stats.failures).toBe(0);
  });

  it('counts a proposer that cannot be freed', async () => {
    const dispose = () => Promise.reject(new Error('stuck'));
    const speculator = new Speculator({
      proposers: [{ name: 'stuck', start: () => ({ propose: () => [], dispose }) }],
    });
    speculator.propose([1], 1);
    await speculator.dispose();
    expect(speculator.stats).toMatchObject({ failures: 1, lastFailure: 'stuck' });
  });
});

describe('options', () => {
  it.each<[string, unknown]>([
    ['no object', 3],
    ['no proposers', {}],
    ['a proposer that is none', { proposers: [promptLookup] }],
    ['a started one', { proposers: [promptLookup().start()] }],
    ['no guesses', { proposers: [], maxTokens: 0 }],
    ['a misspelt name', { proposers: [], maxToken: 3 }],
    ['a gate that never opens', { proposers: [], gate: { pauseSteps: -1 } }],
  ])('are refused with %s', (_, options) => {
    expect(() => new Speculator(options as never)).toThrow(InvalidArgumentError);
  });

  it('are refused for a draft model with another vocabulary, before any work', () => {
    const proposers = [draftModel(new ScriptDraft(() => 6))];
    const other = { info: { vocabSize: 10 }, tokenizer: vocabularyOf([...'abcdefghij']) };
    expect(() => new Speculator({ proposers }, other)).toThrow(VocabularyMismatchError);
  });
});

describe('the sum of stats', () => {
  it('adds up by name', () => {
    const run = (proposers: Proposer[], numAccepted: number) => {
      const speculator = new Speculator({ proposers });
      speculator.propose([0], 4);
      speculator.record(numAccepted);
      return speculator.stats;
    };
    const failed = run([failing('first')], 0);
    const sum = sumSpeculationStats([run([always([1])], 1), failed, run([always([], 'none'), always([1])], 0)]);
    expect(sum).toMatchObject({ attempts: 2, proposedTokens: 2, acceptedTokens: 1, failures: 1, lastFailure: 'first' });
    expect(sum.byProposer.always).toMatchObject({ attempts: 2, acceptedTokens: 1 });
    expect(Object.keys(sum.byProposer)).toEqual(['always', 'failing', 'none']);
  });

  it('is zero for none, and takes proposers of one name as one', () => {
    expect(sumSpeculationStats([])).toMatchObject({ attempts: 0, failures: 0, byProposer: {} });
    const speculator = new Speculator({ proposers: [failing('a'), failing('b')] });
    speculator.propose([0], 4);
    expect(speculator.stats.byProposer).toMatchObject({ failing: { failures: 2, lastFailure: 'b' } });
  });
});
