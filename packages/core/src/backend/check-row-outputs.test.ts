import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors/errors.ts';
import { checkRowOutputs } from './check-row-outputs.ts';
import type { RowOutput, SampleRow } from './step-output.ts';

const program = { vocabSize: 70, contextLength: 5 };

function sampleRow(change: Partial<Record<keyof SampleRow, unknown>> = {}): RowOutput {
  return {
    kind: 'sample',
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    typicalP: 1,
    repetitionPenalty: 1,
    repetitionWindow: -1,
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: new Map(),
    seed: 0n,
    choiceIndex: 0,
    promptTokenIds: [],
    completionTokenIds: [],
    ...change,
  } as RowOutput;
}

describe('checkRowOutputs', () => {
  it('takes rows of every kind, at both ends of their ranges', () => {
    const least = { temperature: 0, topP: 0, typicalP: 0, repetitionPenalty: 2 ** -126, frequencyPenalty: -2 };
    const most = { temperature: 1e308, topK: 2 ** 53 - 1, minP: 1, presencePenalty: 2, seed: 2n ** 64n - 1n };
    const rows: RowOutput[] = [
      { kind: 'logits' },
      { kind: 'logprob', tokenId: 0 },
      { kind: 'logprob', tokenId: 69 },
      sampleRow(least),
      sampleRow({ frequencyPenalty: 1, promptTokenIds: [1, 2, 3], completionTokenIds: [4, 5] }),
      sampleRow({ completionTokenIds: { length: 2 ** 40 } }),
      sampleRow({ ...most, choiceIndex: 2 ** 32 - 1, mask: new Int32Array(3) }),
      { kind: 'hidden' },
      { kind: 'hidden' },
    ];
    expect(() => checkRowOutputs(rows, rows.length, program)).not.toThrow();
    expect(() => checkRowOutputs([], 0, program)).not.toThrow();
  });

  it('wants one entry per output row', () => {
    expect(() => checkRowOutputs([{ kind: 'logits' }], 2, program)).toThrow(/each of the 2 output rows, but has 1/);
  });

  it('wants hidden rows after all others', () => {
    const rows: RowOutput[] = [{ kind: 'hidden' }, { kind: 'hidden' }, { kind: 'logprob', tokenId: 1 }];
    expect(() => checkRowOutputs(rows, 3, program)).toThrow(/row 0 is one and row 2 after it is of the kind logprob/);
  });

  it.each([-1, 70, 0.5, Number.NaN])('refuses the log-probability of token %f', (tokenId) => {
    expect(() => checkRowOutputs([{ kind: 'logprob', tokenId }], 1, program)).toThrow(
      `Token id ${tokenId} of output row 0 is outside the vocabulary of 70.`,
    );
  });

  it.each<[Partial<Record<keyof SampleRow, unknown>>, RegExp]>([
    [{ temperature: -1 }, /temperature of output row 1 must be a number from 0 to .*, got -1/],
    [{ temperature: Number.NaN }, /temperature/],
    [{ temperature: Infinity }, /temperature/],
    [{ topK: -1 }, /topK/],
    [{ topK: 1.5 }, /topK .* whole number/],
    [{ topP: 1.01 }, /topP/],
    [{ minP: -0.1 }, /minP/],
    [{ typicalP: 2 }, /typicalP/],
    [{ repetitionPenalty: 0 }, /repetitionPenalty/],
    [{ repetitionPenalty: 3.5e38 }, /repetitionPenalty/],
    [{ repetitionWindow: -2 }, /repetitionWindow/],
    [{ frequencyPenalty: 2.1 }, /frequencyPenalty/],
    [{ presencePenalty: Number.NaN }, /presencePenalty/],
    [{ choiceIndex: 2 ** 32 }, /choiceIndex/],
    [{ seed: -1n }, /seed of output row 1 must be a bigint/],
    [{ seed: 2n ** 64n }, /seed/],
    [{ seed: 5 }, /seed/],
    [{ mask: new Uint32Array(2) }, /mask of output row 1 must .* at least 3 words for 70 tokens, got 2 words/],
    [{ logitBias: new Map([[70, 1]]) }, /Token id 70 of output row 1/],
    [{ logitBias: new Map([[0.5, 1]]) }, /Token id 0.5 of output row 1/],
    [{ logitBias: new Map([[3, 100.5]]) }, /logitBias of output row 1 .*, but token 3 has 100.5/],
    [{ logitBias: new Map([[3, Number.NaN]]) }, /logitBias/],
    [{ mask: [0, 0, 0] }, /mask/],
    [{ mask: null }, /mask/],
    [{ repetitionPenalty: 2, promptTokenIds: [1, 2, 3], completionTokenIds: [4, 5, 6] }, /may have 5 tokens.* have 6/],
    [{ presencePenalty: 1, promptTokenIds: { length: 6 } }, /may have 5 tokens/],
  ])('refuses %o', (change, message) => {
    const check = () => checkRowOutputs([{ kind: 'logits' }, sampleRow(change)], 2, program);
    expect(check).toThrow(InvalidArgumentError);
    expect(check).toThrow(message);
  });
});
