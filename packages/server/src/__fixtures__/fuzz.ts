import fc from 'fast-check';

// `FUZZ_SEED=… FUZZ_RUNS=…` looks elsewhere, and for longer.
const seed = Number(process.env.FUZZ_SEED ?? 1);
export const numFuzzRuns = Number(process.env.FUZZ_RUNS ?? 60);

/** Fails with the request that went wrong, made as small as it still goes wrong. */
export function fuzz<T>(values: fc.Arbitrary<T>, send: (value: T) => Promise<unknown>): Promise<void> {
  return fc.assert(
    fc.asyncProperty(values, async (value) => void (await send(value))),
    { seed, numRuns: numFuzzRuns },
  );
}
