import type { View } from '@hearth/core';
import { expect } from 'vitest';
import { backendsToCompare } from './backends.ts';
import { firstDifference } from './bits.ts';
import { type OpProgram, runOps } from './op-program.ts';
import { randomFloats, seededRandom } from './random.ts';

/** Runs the same ops in every variant, and expects the floats of the reference, bit for bit. Gives these. */
export async function expectSame(spec: OpProgram): Promise<Float32Array> {
  const [reference, ...variants] = await backends();
  const expected = await runOps(reference!.backend, spec);
  for (const { name, backend } of variants) {
    expect(firstDifference(await runOps(backend, spec), expected), name).toBeNull();
  }
  return expected;
}

let opened: ReturnType<typeof backendsToCompare> | undefined;

function backends(): ReturnType<typeof backendsToCompare> {
  opened ??= backendsToCompare();
  return opened;
}

export const view = (buffer: number, column: number, width: number): View => ({ buffer, column, width });

export const vector = (values: Float32Array) => ({ role: 'vector', shape: [values.length], values }) as const;

/** Normal floats with zeros of both signs, denormals and a few large ones among them. */
export function awkwardFloats(length: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  const special = [0, -0, 1e-40, -3e-42, 250, -1e4];
  return randomFloats(random, length).map((value) => {
    const pick = Math.floor(random() * 60);
    return special[pick] ?? value;
  });
}
