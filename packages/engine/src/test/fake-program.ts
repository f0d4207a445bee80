import type { Program } from '@hearth/core';

/** A program without ops, for a backend that does not look at them. */
export function fakeProgram(options: { vocabSize: number; contextLength: number; numGroups?: number }): Program {
  const buffer = { rows: 'outputs' as const, width: options.vocabSize, offset: 0 };
  const view = { buffer: 0, column: 0, width: options.vocabSize };
  return {
    name: 'fake',
    hiddenSize: 1,
    vocabSize: options.vocabSize,
    contextLength: options.contextLength,
    weights: [],
    buffers: [buffer],
    arenaWidth: { tokens: 0, outputs: options.vocabSize },
    ropes: [],
    cacheGroups: Array.from({ length: options.numGroups ?? 1 }, () => ({ window: null })),
    cacheLayers: [],
    ops: [],
    hidden: { buffer: 0, column: 0, width: 1 },
    logits: view,
    captures: [],
  };
}
