import { Candidates } from '../candidates/candidates.ts';
import { SelectionBuffers, selectCandidates } from '../candidates/select-candidates.ts';
import { temperature } from '../processors/temperature.ts';

/** A row of pseudo-random logits like a model's: most around 0 with the given spread, from a fixed generator. */
export function randomRow(length: number, seed: number, spread = 3): Float32Array {
  let state = seed >>> 0 || 1;
  const next = () => {
    state = (state ^ (state << 13)) >>> 0;
    state = (state ^ (state >>> 17)) >>> 0;
    state = (state ^ (state << 5)) >>> 0;
    return state / 2 ** 32;
  };
  // The sum of twelve uniforms is close to a normal distribution of deviation 1.
  return Float32Array.from({ length }, () => {
    let sum = -6;
    for (let i = 0; i < 12; i++) sum += next();
    return sum * spread;
  });
}

/** Candidates with the given probabilities (descending), as they are after temperature 1. */
export function candidatesOf(probabilities: readonly number[]): Candidates {
  return candidatesFromLogits(Float32Array.from(probabilities, Math.log));
}

/** All tokens of a row as candidates, after temperature 1. */
export function candidatesFromLogits(logits: Float32Array): Candidates {
  const candidates = new Candidates();
  const everything = { limit: logits.length, floor: Number.NEGATIVE_INFINITY };
  selectCandidates(logits, everything, candidates, new SelectionBuffers());
  temperature(1).process(candidates, noContext);
  return candidates;
}

/** The ids of the candidates that are left, in order. */
export function idsOf(candidates: Candidates): number[] {
  return [...candidates.tokenIds.subarray(0, candidates.length)];
}

/** For processors that look at logits only. */
export const noContext = { promptTokenIds: [], completionTokenIds: [], mask: undefined };
