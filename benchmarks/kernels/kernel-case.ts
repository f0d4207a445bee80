import type {
  BufferSpec,
  CacheDtype,
  CacheLayerSpec,
  Op,
  Program,
  RowKind,
  View,
  WeightDtype,
  WeightSpec,
} from '@hearth/core';

/** A matrix or vector that measured ops read; matrices of one type and shape share their random bytes, not their memory. */
export interface CaseWeight {
  readonly dtype: WeightDtype;
  /** [rows, columns], or [length] of ones. */
  readonly shape: readonly number[];
}

/** One kernel at one size: a program whose middle is the op, as often as the case asks, over a step of one sequence. */
export interface KernelCase {
  readonly group: 'linear' | 'attention' | 'rows';
  readonly kernel: string;
  readonly shape: string;
  readonly numTokens: number;
  /** Positions before the step. */
  readonly context: number;
  readonly cacheDtype: CacheDtype;
  readonly weights: readonly CaseWeight[];
  readonly program: Program;
}

/** What is measured, by the name of its op. */
export const measuredName = 'measured';

/** Floats of the input, which an embedding brings into buffer 0; `out` is buffer 1. */
export interface CaseSizes {
  readonly numTokens: number;
  readonly context?: number;
  readonly inputWidth: number;
  readonly outWidth: number;
}

interface CaseParts extends CaseSizes {
  readonly group: KernelCase['group'];
  readonly kernel: string;
  readonly shape: string;
  readonly weights?: readonly CaseWeight[];
  readonly cacheLayers?: readonly CacheLayerSpec[];
  readonly cacheDtype?: CacheDtype;
  /** Ops before the measured ones, such as the one that makes a table. */
  readonly before?: readonly Op[];
  readonly ops: readonly Op[];
  readonly ropes?: Program['ropes'];
  /** Width of buffer 2, for what `before` makes. */
  readonly extraWidth?: number;
}

export const view = (buffer: number, width: number, column = 0): View => ({ buffer, column, width });

/** Around the ops: an input that differs by token, and the least of hidden rows and logits that a program must have. */
export function kernelCase(parts: CaseParts): KernelCase {
  const { numTokens, context = 0, inputWidth, outWidth, weights = [], cacheDtype = 'f16' } = parts;
  const specs: WeightSpec[] = weights.map(({ shape }, i) => ({
    name: `w${i}`,
    role: shape.length === 1 ? 'vector' : 'matrix',
    shape,
  }));
  specs.push({ name: 'input', role: 'matrix', shape: [numTokens, inputWidth] });
  const inputWeight = specs.length - 1;
  const arenaWidth: Record<RowKind, number> = { tokens: 0, outputs: 0 };
  const buffers: BufferSpec[] = [];
  const addBuffer = (rows: RowKind, width: number): View => {
    buffers.push({ rows, width, offset: arenaWidth[rows] });
    arenaWidth[rows] += Math.ceil(width / 16) * 16;
    return view(buffers.length - 1, width);
  };
  const input = addBuffer('tokens', inputWidth);
  addBuffer('tokens', outWidth);
  addBuffer('tokens', parts.extraWidth ?? 16);
  const hidden = addBuffer('outputs', inputWidth);
  const logits = addBuffer('outputs', numTokens);
  const { group, kernel, shape } = parts;
  return {
    ...{ group, kernel, shape, numTokens, context, cacheDtype },
    weights: [...weights, { dtype: 'f32', shape: [numTokens, inputWidth] }],
    program: {
      name: `${group} ${kernel} ${shape}`,
      hiddenSize: inputWidth,
      vocabSize: numTokens,
      contextLength: context + numTokens,
      weights: specs,
      buffers,
      arenaWidth,
      ropes: parts.ropes ?? [],
      cacheGroups: [{ window: null }],
      cacheLayers: parts.cacheLayers ?? [],
      ops: [
        { kind: 'embed', name: 'input', ids: 'tokens', scale: 1, weight: inputWeight, out: input },
        ...(parts.before ?? []),
        ...parts.ops,
        { kind: 'gather-rows', name: 'hidden', x: input, out: hidden },
        { kind: 'linear', name: 'logits', x: hidden, weights: [inputWeight], biases: [null], out: logits },
      ],
      hidden,
      logits,
      captures: [],
    },
  };
}
