import type { Tolerance } from './manifest.ts';

/** One golden tensor against what was computed. */
export interface Comparison {
  /** The key of the golden: `prefill/model.layers.0.self_attn.q_proj`. */
  readonly key: string;
  readonly passed: boolean;
  /** The element that is furthest from its golden. */
  readonly worst: {
    readonly coordinates: readonly number[];
    readonly expected: number;
    readonly got: number;
    /** |got − expected|; infinite when the value is not finite. */
    readonly error: number;
  };
  readonly tolerance: Tolerance;
}

/**
 * Compares element by element. A value is right when it is finite and at most `tolerance.abs` from its golden.
 * @param got of the same shape; a wrong number of elements is an error of the caller
 */
export function compareTensor(
  key: string,
  expected: Float32Array,
  got: Float32Array,
  { shape, tolerance }: { readonly shape: readonly number[]; readonly tolerance: Tolerance },
): Comparison {
  const numElements = shape.reduce((product, size) => product * size, 1);
  if (expected.length !== numElements || got.length !== numElements) {
    throw new Error(
      `${key}: expected [${shape}], so ${numElements} values; the golden has ${expected.length}, got ${got.length}.`,
    );
  }
  let worst = 0;
  let worstError = -1;
  for (let i = 0; i < numElements; i++) {
    const error = Number.isFinite(got[i]!) ? Math.abs(got[i]! - expected[i]!) : Number.POSITIVE_INFINITY;
    if (error > worstError) {
      worst = i;
      worstError = error;
    }
  }
  return {
    key,
    passed: worstError <= tolerance.abs,
    worst: {
      coordinates: coordinatesOf(worst, shape),
      expected: expected[worst]!,
      got: got[worst]!,
      error: worstError,
    },
    tolerance,
  };
}

function coordinatesOf(index: number, shape: readonly number[]): number[] {
  const coordinates: number[] = [];
  let rest = index;
  for (const size of shape.toReversed()) {
    coordinates.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return coordinates;
}
