import type { Program } from '@hearth/core';

/** Width of the hidden rows. */
export const fakeHiddenSize = 8;

/** A program with one op that nobody runs, for a backend that does not look at ops. */
export function fakeProgram(options: { vocabSize: number; contextLength: number; numGroups?: number }): Program {
  const buffer = { rows: 'outputs' as const, width: options.vocabSize, offset: 0 };
  const logits = { buffer: 0, column: 0, width: options.vocabSize };
  const hidden = { buffer: 0, column: 0, width: fakeHiddenSize };
  return {
    name: 'fake',
    hiddenSize: fakeHiddenSize,
    vocabSize: options.vocabSize,
    contextLength: options.contextLength,
    weights: [],
    buffers: [buffer],
    arenaWidth: { tokens: 0, outputs: options.vocabSize },
    ropes: [],
    cacheGroups: Array.from({ length: options.numGroups ?? 1 }, () => ({ window: null })),
    cacheLayers: [],
    ops: [{ kind: 'linear', name: 'lm_head', x: hidden, weights: [], biases: [], out: logits }],
    hidden,
    logits,
    captures: [],
  };
}
