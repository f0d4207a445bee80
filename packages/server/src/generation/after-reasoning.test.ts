import { describe, expect, it } from 'vitest';
import { allowed, braces, ids, thoughts, tokens, vocabSize } from '../__fixtures__/reasoning-vocabulary.ts';
import { AfterReasoning } from './after-reasoning.ts';

describe('AfterReasoning', () => {
  const make = (block: 'open' | 'closed' = 'open') =>
    new AfterReasoning({ answer: braces().answer, block, tokens, vocabSize });

  it('lets all tokens but the end of the text through in the block, then line feeds or the answer, then the answer', async () => {
    const constraint = make();
    expect(await allowed(constraint, [])).toEqual([thoughts]);
    expect(await allowed(constraint, [ids.hm, ids.lf])).toEqual([thoughts]);
    expect(await allowed(constraint, [ids.hm, ids.lf, ids.end])).toEqual([[ids.lf, ids.lf2, ids.open]]);
    expect(await allowed(constraint, [ids.hm, ids.lf, ids.end, ids.lf])).toEqual([[ids.lf, ids.open]]);
    expect(await allowed(constraint, [ids.hm, ids.lf, ids.end, ids.lf, ids.lf])).toEqual([[ids.open]]);
    expect(await allowed(constraint, [ids.hm, ids.lf, ids.end, ids.lf, ids.lf, ids.open])).toEqual([[ids.close]]);
  });

  it('lets the model open the block itself, or answer at once', async () => {
    expect(await allowed(make('closed'), [])).toEqual([[ids.think, ids.open]]);
    expect(await allowed(make('closed'), [ids.think, ids.hm])).toEqual([thoughts]);
    expect(await allowed(make('closed'), [ids.open])).toEqual([[ids.close]]);
  });

  it('finds an end of several tokens, none of which may begin the answer', async () => {
    const constraint = make();
    expect(await allowed(constraint, [ids.slash, ids.word])).toEqual([thoughts.filter((id) => id !== ids.bracketOpen)]);
    expect(await allowed(constraint, [ids.slash, ids.word, ids.bracketLf])).toEqual([[ids.lf, ids.open]]);
    expect(await allowed(make(), [ids.slash, ids.word, ids.bracket, ids.open])).toEqual([[ids.close]]);
  });

  it.each([
    [[ids.hm], [ids.lf, ids.end, ids.lf2, ids.open, ids.close]],
    [[], [ids.end, ids.open, ids.open]],
    [
      [ids.hm, ids.end, ids.lf],
      [ids.open, ids.close],
    ],
    [[ids.hm, ids.end, ids.lf2, ids.open], [ids.close]],
  ])('has the same masks after guesses as token by token: %j, %j', async (known, guesses) => {
    const masks = await allowed(make(), known, guesses);
    const constraint = make();
    for (const [index, mask] of masks.entries()) {
      expect(await allowed(constraint, [...known, ...guesses.slice(0, index)])).toEqual([mask]);
    }
    expect(masks.length).toBeGreaterThan(1);
  });

  it('tells the answer its own tokens only', async () => {
    const { answer, asked } = braces();
    await new AfterReasoning({ answer, block: 'open', tokens, vocabSize }).nextMasks(
      [ids.hm, ids.end, ids.lf2, ids.open],
      [],
    );
    expect(asked).toEqual([[ids.open]]);
  });
});
