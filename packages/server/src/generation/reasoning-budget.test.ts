import type { TokenConstraint } from '@hearth/engine';
import { describe, expect, it } from 'vitest';
import { allowed, braces, ids, thoughts, tokens, vocabSize } from '../__fixtures__/reasoning-vocabulary.ts';
import { AfterReasoning } from './after-reasoning.ts';
import { ReasoningBudget } from './reasoning-budget.ts';

describe('ReasoningBudget', () => {
  const make = (budget: number, block: 'open' | 'closed' = 'open', inner?: TokenConstraint) =>
    new ReasoningBudget({ budget, block, tokens, vocabSize, inner });

  it('ends the line and the block after so many tokens', async () => {
    const constraint = make(2);
    expect(await allowed(constraint, [ids.hm])).toEqual(['all']);
    expect(await allowed(constraint, [ids.hm, ids.hm])).toEqual([[ids.lf]]);
    expect(await allowed(constraint, [ids.hm, ids.hm, ids.lf])).toEqual([[ids.end]]);
    expect(await allowed(constraint, [ids.hm, ids.hm, ids.lf, ids.end])).toEqual(['all']);
  });

  it('adds no line feed where there is one, or nothing was thought', async () => {
    expect(await allowed(make(2), [ids.hm, ids.lf])).toEqual([[ids.end]]);
    expect(await allowed(make(0), [])).toEqual([[ids.end]]);
    expect(await allowed(make(0, 'closed'), [])).toEqual(['all']);
    expect(await allowed(make(0, 'closed'), [ids.think])).toEqual([[ids.end]]);
  });

  it('leaves a block alone that ends by itself, and what comes after it', async () => {
    expect(await allowed(make(2), [ids.hm, ids.end, ids.hm, ids.hm, ids.hm])).toEqual(['all']);
  });

  it('cuts guesses that go on beyond it', async () => {
    expect(await allowed(make(1), [], [ids.hm, ids.hm, ids.hm])).toEqual(['all', [ids.lf]]);
    expect(await allowed(make(1), [], [ids.hm, ids.lf, ids.end])).toEqual(['all', [ids.lf], [ids.end], 'all']);
  });

  it('goes together with a constraint of the answer', async () => {
    const inner = new AfterReasoning({ answer: braces().answer, block: 'open', tokens, vocabSize });
    const constraint = make(1, 'open', inner);
    expect(await allowed(constraint, [], [ids.hm, ids.lf, ids.end, ids.lf2, ids.open])).toEqual([
      thoughts,
      [ids.lf],
      [ids.end],
      [ids.lf, ids.lf2, ids.open],
      [ids.open],
      [ids.close],
    ]);
    expect(await allowed(constraint, [ids.hm, ids.lf, ids.end, ids.open])).toEqual([[ids.close]]);
  });
});
