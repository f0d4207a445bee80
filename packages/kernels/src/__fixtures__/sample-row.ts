import type { RowOutput, SampleRow } from '@hearth/core';

/** An output row that is sampled: with everything off but what is given. */
export function sampleRow(change: Partial<SampleRow> = {}): Extract<RowOutput, { kind: 'sample' }> {
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
  };
}
