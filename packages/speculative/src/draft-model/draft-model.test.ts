import { AbortError, DisposedError, InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { ScriptDraft } from '../__fixtures__/script-draft.ts';
import { digits, vocabularyOf } from '../__fixtures__/vocabularies.ts';
import { draftModel } from './draft-model.ts';
import { VocabularyMismatchError } from './vocabulary-mismatch-error.ts';

const countUp = (tokenIds: readonly number[]) => (tokenIds.at(-1)! + 1) % 10;

describe('a draft model', () => {
  it('guesses its own most probable tokens', async () => {
    const draft = draftModel(new ScriptDraft(countUp)).start();
    expect(await draft.propose([3, 4], 4)).toEqual([5, 6, 7, 8]);
    expect(await draft.propose([3, 4, 5], 1)).toEqual([6]);
  });

  it('computes only what its session does not hold yet', async () => {
    const model = new ScriptDraft(countUp);
    const draft = draftModel(model).start();
    await draft.propose([0, 1, 2, 3, 4], 3);
    // All three stood and 8 was sampled after them: 7, which was guessed but not computed, and 8.
    await draft.propose([0, 1, 2, 3, 4, 5, 6, 7, 8], 3);
    // Only 9 stood, then 5 was sampled: 9 is in the cache still, the guesses after it are not.
    await draft.propose([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5], 3);
    expect(model.sessions).toHaveLength(1);
    expect(model.sessions[0]!.computed).toEqual([5 + 2, 2 + 2, 1 + 2]);
  });

  it('has a session for each sequence', async () => {
    const model = new ScriptDraft(countUp);
    const proposer = draftModel(model);
    const [a, b] = [proposer.start(), proposer.start()];
    expect([await a.propose([1], 2), await b.propose([5], 2)]).toEqual([
      [2, 3],
      [6, 7],
    ]);
    expect(model.sessions).toHaveLength(2);
    await a.dispose();
    expect(model.sessions.map((session) => session.isDisposed)).toEqual([true, false]);
  });

  it('guesses no further than its context reaches', async () => {
    const draft = draftModel(new ScriptDraft(countUp, 6)).start();
    expect(await draft.propose([1, 2, 3, 4], 4)).toEqual([5, 6]);
    expect(await draft.propose([1, 2, 3, 4, 5, 6], 4)).toEqual([]);
    expect(await draft.propose([1, 2, 3, 4, 5, 6, 7], 4)).toEqual([]);
  });

  it('has no guesses for an empty text, nor when none are wanted', async () => {
    const model = new ScriptDraft(countUp);
    const draft = draftModel(model).start();
    expect([await draft.propose([], 4), await draft.propose([1], 0)]).toEqual([[], []]);
    expect(model.sessions).toHaveLength(0);
  });

  it('rejects with what the draft fails with, and guesses again later', async () => {
    const model = new ScriptDraft(countUp);
    const draft = draftModel(model).start();
    model.error = new Error('no room');
    await expect(draft.propose([1], 2)).rejects.toThrow('no room');
    model.error = undefined;
    expect(await draft.propose([1, 2], 2)).toEqual([3, 4]);
  });

  it('ends with the signal, and when it is disposed', async () => {
    const model = new ScriptDraft(countUp);
    const draft = draftModel(model).start();
    await expect(draft.propose([1], 2, AbortSignal.abort())).rejects.toThrow(AbortError);
    expect(await draft.propose([1], 1)).toEqual([2]);
    await draft.dispose();
    await draft.dispose();
    expect(model.sessions[0]!.isDisposed).toBe(true);
    await expect(draft.propose([1], 2)).rejects.toThrow(DisposedError);
    await draftModel(model).start().dispose();
  });
});

describe('the vocabulary of a draft model', () => {
  const check = (draftTexts: (string | undefined)[], targetTexts: (string | undefined)[]) => {
    const draft = Object.assign(new ScriptDraft(countUp), { tokenizer: vocabularyOf(draftTexts) });
    draftModel(draft).checkTarget!({ info: { vocabSize: 100 }, tokenizer: vocabularyOf(targetTexts) });
  };

  it.each<[string, (string | undefined)[], (string | undefined)[]]>([
    ['is equal', ['a', 'b'], ['a', 'b']],
    ['has more rows of padding', ['a', 'b', '', ''], ['a', 'b']],
    ['has fewer rows of padding', ['a', 'b'], ['a', 'b', '']],
    ['has other control tokens', ['a', undefined, 'c'], ['a', 'name', 'c']],
    ['lacks control tokens', ['a'], ['a', undefined]],
  ])('is taken when it %s', (_, draftTexts, targetTexts) => {
    check(draftTexts, targetTexts);
  });

  it.each<[string, (string | undefined)[], (string | undefined)[]]>([
    ['has another text', ['a', 'b'], ['a', 'c']],
    ['has a longer text', ['a', 'bb'], ['a', 'b']],
    ['has more tokens', ['a', 'b', 'c'], ['a', 'b']],
    ['has fewer tokens', ['a'], ['a', 'b']],
  ])('is refused when it %s', (_, draftTexts, targetTexts) => {
    expect(() => check(draftTexts, targetTexts)).toThrow(VocabularyMismatchError);
  });

  it('is refused by the first id that differs, and what it is', () => {
    expect(() => check(['a', 'b', 'x'], ['a', 'c', 'y'])).toThrow(
      expect.objectContaining({
        code: 'vocabulary_mismatch',
        details: { tokenId: 1, draftText: 'b', targetText: 'c' },
      }),
    );
  });

  it('is refused when it is that of the target itself, which would wait for its own guess', () => {
    const model = new ScriptDraft(countUp);
    const target = { info: { vocabSize: 10 }, tokenizer: model.tokenizer };
    expect(() => draftModel(model).checkTarget!(target)).toThrow(InvalidArgumentError);
    expect(() => draftModel(model).checkTarget!(target)).toThrow(/own draft model/);
  });

  it('is compared once for each model', () => {
    let numCompared = 0;
    const tokenizer = { ...vocabularyOf([...'0123456789'], 'other'), isSpecial: () => ++numCompared < 0 };
    const proposer = draftModel(new ScriptDraft(countUp));
    const target = { info: { vocabSize: 10 }, tokenizer };
    proposer.checkTarget!(target);
    proposer.checkTarget!(target);
    expect(numCompared).toBe(10);
    proposer.checkTarget!({ ...target, tokenizer: digits });
    expect(numCompared).toBe(10);
  });
});
