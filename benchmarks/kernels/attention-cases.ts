import type { CacheDtype } from '@hearth/core';
import { type KernelCase, kernelCase, measuredName, view } from './kernel-case.ts';

interface Heads {
  readonly name: string;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
}

const allHeads: readonly Heads[] = [
  { name: 'Llama 1.1B', numHeads: 32, numKvHeads: 4, headDim: 64 },
  { name: 'SmolLM2 135M', numHeads: 9, numKvHeads: 3, headDim: 64 },
  { name: 'Qwen2.5 0.5B', numHeads: 14, numKvHeads: 2, headDim: 64 },
  { name: 'Llama 3.2 3B', numHeads: 24, numKvHeads: 8, headDim: 128 },
];

/** Tokens of the step, and positions before it. */
const steps = [
  { numTokens: 1, context: 511 },
  { numTokens: 1, context: 1499 },
  { numTokens: 1, context: 4095 },
  { numTokens: 256, context: 0 },
  { numTokens: 256, context: 1244 },
] as const;

/** Attention over as many layers as keep the keys of a decode step out of the caches; prefill uses each key too often to care. */
export function attentionCases(cacheDtypes: readonly CacheDtype[], totalBytes: number): KernelCase[] {
  return cacheDtypes.flatMap((cacheDtype) =>
    allHeads.flatMap((heads) => steps.map((step) => attentionCase(heads, step, cacheDtype, totalBytes))),
  );
}

function attentionCase(
  { name, numHeads, numKvHeads, headDim }: Heads,
  { numTokens, context }: (typeof steps)[number],
  cacheDtype: CacheDtype,
  totalBytes: number,
): KernelCase {
  const width = numHeads * headDim;
  const layerBytes = 2 * 2 * numKvHeads * headDim * (context + numTokens);
  const numLayers = numTokens > 1 ? 2 : Math.min(128, Math.ceil(totalBytes / layerBytes));
  const layers = Array.from({ length: numLayers }, (_, layer) => layer);
  return kernelCase({
    ...{ group: 'attention', kernel: `${name}, ${cacheDtype}`, numTokens, context, cacheDtype },
    shape: `${numTokens} at ${context}`,
    inputWidth: width,
    outWidth: width,
    cacheLayers: layers.map(() => ({ numKvHeads, headDim, group: 0 })),
    // A program must write what it reads: the keys and values of the step, here of its queries. The rest of the cache is zeros.
    before: layers.map((layer) => ({
      kind: 'write-cache',
      name: 'keys',
      layer,
      k: view(0, numKvHeads * headDim),
      v: view(0, numKvHeads * headDim),
    })),
    ops: layers.map((layer) => ({
      kind: 'attention',
      name: measuredName,
      layer,
      q: view(0, width),
      out: view(1, width),
      numHeads,
      scale: headDim ** -0.5,
      window: null,
      softcap: null,
    })),
  });
}
