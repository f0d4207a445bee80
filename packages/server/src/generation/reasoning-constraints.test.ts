import type { TokenMask } from '@hearth/core';
import type { TokenConstraint } from '@hearth/engine';
import { describe, expect, it } from 'vitest';
import { AfterReasoning } from './after-reasoning.ts';
import { ReasoningBudget } from './reasoning-budget.ts';
import type { ReasoningTokens } from './reasoning-tokens.ts';

const pieces = ['<think>', '</think>', '\n', '\n\n', 'hm', '{', '}', '</', 'think', '>', '>\n', '>{', '\n</think>'];
const [think, end, lf, lf2, hm, open, close, slash, word, bracket, bracketLf, bracketOpen] = pieces.keys();
const vocabSize = pieces.length;

const tokens: ReasoningTokens = {
  beginId: think,
  endIds: [end!],
  endLineIds: [lf!, end!],
  lineFeeds: new Map([
    [lf!, 1],
    [lf2!, 2],
  ]),
  pieceOf: (id) => pieces[id]!,
  overshooting: Array.from({ length: 9 }, (_, length) => (length === 1 ? [bracketOpen!] : [])),
};

/** An answer that is `{`, then `}`, and remembers what it was asked. */
function braces() {
  const asked: (readonly number[])[] = [];
  const answer: TokenConstraint = {
    async nextMasks(known, guesses) {
      asked.push([...known]);
      const all = [...known, ...guesses];
      const wanted = [open!, close!];
      const masks: TokenMask[] = [];
      for (let at = known.length; at <= all.length; at++) {
        masks.push(maskOf(wanted[at]!));
        if (all[at] !== wanted[at]) break;
      }
      return masks;
    },
  };
  return { answer, asked };
}

function maskOf(...ids: number[]): TokenMask {
  return Uint32Array.of(ids.reduce((bits, id) => bits | (1 << id), 0));
}

function idsOf(mask: TokenMask | undefined): number[] | 'all' {
  if (!mask) return 'all';
  return [...pieces.keys()].filter((id) => (mask[0]! >>> id) & 1);
}

async function allowed(constraint: TokenConstraint, known: number[], guesses: number[] = []) {
  return (await constraint.nextMasks(known, guesses)).map(idsOf);
}

describe('AfterReasoning', () => {
  const make = (block: 'open' | 'closed' = 'open') =>
    new AfterReasoning({ answer: braces().answer, block, tokens, vocabSize });

  it('lets all tokens through in the block, then line feeds or the answer, then the answer', async () => {
    const constraint = make();
    expect(await allowed(constraint, [])).toEqual(['all']);
    expect(await allowed(constraint, [hm!, lf!])).toEqual(['all']);
    expect(await allowed(constraint, [hm!, lf!, end!])).toEqual([[lf, lf2, open]]);
    expect(await allowed(constraint, [hm!, lf!, end!, lf!])).toEqual([[lf, open]]);
    expect(await allowed(constraint, [hm!, lf!, end!, lf!, lf!])).toEqual([[open]]);
    expect(await allowed(constraint, [hm!, lf!, end!, lf!, lf!, open!])).toEqual([[close]]);
  });

  it('lets the model open the block itself, or answer at once', async () => {
    expect(await allowed(make('closed'), [])).toEqual([[think, open]]);
    expect(await allowed(make('closed'), [think!, hm!])).toEqual(['all']);
    expect(await allowed(make('closed'), [open!])).toEqual([[close]]);
  });

  it('finds an end of several tokens, none of which may begin the answer', async () => {
    const constraint = make();
    expect(await allowed(constraint, [slash!, word!])).toEqual([[...pieces.keys()].filter((id) => id !== bracketOpen)]);
    expect(await allowed(constraint, [slash!, word!, bracketLf!])).toEqual([[lf, open]]);
    expect(await allowed(make(), [slash!, word!, bracket!, open!])).toEqual([[close]]);
  });

  it.each([
    [[hm!], [lf!, end!, lf2!, open!, close!]],
    [[], [end!, open!, open!]],
    [
      [hm!, end!, lf!],
      [open!, close!],
    ],
    [[hm!, end!, lf2!, open!], [close!]],
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
    await new AfterReasoning({ answer, block: 'open', tokens, vocabSize }).nextMasks([hm!, end!, lf2!, open!], []);
    expect(asked).toEqual([[open]]);
  });
});

describe('ReasoningBudget', () => {
  const make = (budget: number, block: 'open' | 'closed' = 'open', inner?: TokenConstraint) =>
    new ReasoningBudget({ budget, block, tokens, vocabSize, inner });

  it('ends the line and the block after so many tokens', async () => {
    const constraint = make(2);
    expect(await allowed(constraint, [hm!])).toEqual(['all']);
    expect(await allowed(constraint, [hm!, hm!])).toEqual([[lf]]);
    expect(await allowed(constraint, [hm!, hm!, lf!])).toEqual([[end]]);
    expect(await allowed(constraint, [hm!, hm!, lf!, end!])).toEqual(['all']);
  });

  it('adds no line feed where there is one, or nothing was thought', async () => {
    expect(await allowed(make(2), [hm!, lf!])).toEqual([[end]]);
    expect(await allowed(make(0), [])).toEqual([[end]]);
    expect(await allowed(make(0, 'closed'), [])).toEqual(['all']);
    expect(await allowed(make(0, 'closed'), [think!])).toEqual([[end]]);
  });

  it('leaves a block alone that ends by itself, and what comes after it', async () => {
    expect(await allowed(make(2), [hm!, end!, hm!, hm!, hm!])).toEqual(['all']);
  });

  it('cuts guesses that go on beyond it', async () => {
    expect(await allowed(make(1), [], [hm!, hm!, hm!])).toEqual(['all', [lf]]);
    expect(await allowed(make(1), [], [hm!, lf!, end!])).toEqual(['all', [lf], [end], 'all']);
  });

  it('goes together with a constraint of the answer', async () => {
    const inner = new AfterReasoning({ answer: braces().answer, block: 'open', tokens, vocabSize });
    const constraint = make(1, 'open', inner);
    expect(await allowed(constraint, [], [hm!, lf!, end!, lf2!, open!])).toEqual([
      'all',
      [lf],
      [end],
      [lf, lf2, open],
      [open],
      [close],
    ]);
    expect(await allowed(constraint, [hm!, lf!, end!, open!])).toEqual([[close]]);
  });
});
