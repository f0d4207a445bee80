import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileMapper, HearthError, isQuantizedDtype, MemoryFile } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { architectureNames, familyBytes } from './__fixtures__/family-bytes.ts';
import { counting, ggufBytes, llamaEntries, llamaTensors, u32 } from './__fixtures__/gguf-bytes.ts';
import { putFile, temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { openCheckpoint } from './open-checkpoint.ts';
import { readSafetensors } from './safetensors/read-safetensors.ts';
import { writeSyntheticLlama } from './synthetic/synthetic-llama.ts';
import { readTensor } from './tensor/read-tensor.ts';
import { weightSource } from './tensor/weight-source.ts';

const directory = await temporaryDirectory();

/** A change of a file: some bytes replaced, a piece cut out or repeated, the end cut off. Places are shares of the length. */
type Mutation =
  | { kind: 'replace'; places: readonly (readonly [number, number])[] }
  | { kind: 'flip'; places: readonly (readonly [number, number])[] }
  | { kind: 'truncate'; at: number }
  | { kind: 'remove'; at: number; length: number }
  | { kind: 'repeat'; at: number; length: number };

/**
 * A share of the file, uniform: fast-check likes doubles near 0 and integers near their bounds, but a file whose first byte is
 * wrong is refused there and then.
 */
const place = fc.noBias(fc.integer({ min: 0, max: 2 ** 20 - 1 })).map((value) => value / 2 ** 20);
/** Values at the borders of signed and unsigned numbers break more than values in between. */
const byte = fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.integer({ min: 0, max: 255 }));
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({
    kind: fc.constant('replace' as const),
    places: fc.array(fc.tuple(place, byte), { minLength: 1, maxLength: 12 }),
  }),
  fc.record({
    kind: fc.constant('flip' as const),
    places: fc.array(fc.tuple(place, fc.integer({ min: 0, max: 7 })), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('truncate' as const), at: place }),
  fc.record({ kind: fc.constant('remove' as const), at: place, length: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('repeat' as const), at: place, length: fc.integer({ min: 1, max: 40 }) }),
);

/** Applies a mutation to the first `headerBytes` of a file: data has no wrong values, so mutating it shows nothing. */
function mutate(original: Uint8Array, change: Mutation, headerBytes: number): Uint8Array {
  const at = (share: number) => Math.floor(share * headerBytes);
  const bytes = original.slice();
  switch (change.kind) {
    case 'replace':
      for (const [share, value] of change.places) bytes[at(share)] = value;
      return bytes;
    case 'flip':
      for (const [share, bit] of change.places) bytes[at(share)]! ^= 1 << bit;
      return bytes;
    case 'truncate':
      return bytes.subarray(0, Math.floor(change.at * original.length));
    case 'remove':
      return new Uint8Array([...bytes.subarray(0, at(change.at)), ...bytes.subarray(at(change.at) + change.length)]);
    case 'repeat':
      return new Uint8Array([...bytes.subarray(0, at(change.at) + change.length), ...bytes.subarray(at(change.at))]);
  }
}

/** Serves one memory file under every path. */
const mapperOf = (bytes: Uint8Array): FileMapper => ({ open: async (path) => new MemoryFile(bytes, path) });

/** Runs until it is done or refused with a typed error; anything else fails. Says which of the two it was. */
async function outcome(run: () => Promise<unknown>): Promise<'done' | 'refused'> {
  try {
    await run();
    return 'done';
  } catch (error) {
    if (HearthError.isInstance(error) && ['invalid_model', 'unsupported'].includes(error.code)) return 'refused';
    throw error;
  }
}

/** Opens, and then reads everything that was promised to be readable. */
async function openAndReadAll(path: string, bytes: Uint8Array): Promise<void> {
  const checkpoint = await openCheckpoint(path, { fileMapper: mapperOf(bytes) });
  for (const tensor of checkpoint.tensors.values()) {
    expect(tensor.offset + tensor.byteLength).toBeLessThanOrEqual(bytes.length);
    const source = weightSource(tensor, {});
    const values = await readTensor(tensor);
    expect(values.length).toBe(source.shape.reduce((product, dim) => product * dim, 1));
    // No more memory than the file justifies: 256 codes of a quantized block come from at least 84 bytes.
    expect(values.byteLength).toBeLessThanOrEqual(tensor.byteLength * (isQuantizedDtype(source.dtype) ? 12.2 : 2));
  }
}

/** Ten times what a slow machine needs for all runs of one test. */
const watchdog = 120_000;

describe('damaged files', () => {
  it(
    'of GGUF give typed errors or consistent tensors',
    async () => {
      const path = await putFile(directory, 'fuzz.gguf', 'placeholder');
      const quantized = llamaTensors().map((tensor) =>
        tensor.name === 'output.weight'
          ? { name: tensor.name, dims: [32, 4], type: 2, data: new Uint8Array(72) }
          : tensor,
      );
      const files = [
        ggufBytes(),
        ggufBytes({
          tensors: quantized,
          entries: llamaEntries({ 'general.alignment': ['u32', u32(64)] }),
          alignment: 64,
        }),
      ];
      const headerBytes = ggufBytes({ withData: false }).length;
      const outcomes = { done: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...files), mutation, async (original, change) => {
          const bytes = mutate(original, change, headerBytes);
          outcomes[await outcome(() => openAndReadAll(path, bytes))]++;
        }),
        { seed: 11, numRuns: 1500 },
      );
      // The mutations reach both ends: a test in which everything is refused at the first byte would show nothing.
      expect(outcomes.done).toBeGreaterThan(10);
      expect(outcomes.refused).toBeGreaterThan(500);
    },
    watchdog,
  );

  it(
    'of every GGUF family give typed errors or consistent tensors',
    async () => {
      const path = await putFile(directory, 'families.gguf', 'placeholder');
      const factors = ['long', 'short'].map((kind) => ({
        name: `rope_factors_${kind}.weight`,
        dims: [2],
        data: counting(2, 1),
      }));
      const original = { '.rope.scaling.original_context_length': ['u32', u32(16)] } as const;
      const files = architectureNames.map((name) => {
        const changes = name === 'phi3' ? { keys: original, moreTensors: factors } : {};
        const file = familyBytes(name, changes);
        return { bytes: ggufBytes(file), headerBytes: ggufBytes({ ...file, withData: false }).length };
      });
      const outcomes = { done: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...files), mutation, async ({ bytes, headerBytes }, change) => {
          outcomes[await outcome(() => openAndReadAll(path, mutate(bytes, change, headerBytes)))]++;
        }),
        { seed: 14, numRuns: 1500 },
      );
      expect(outcomes.done).toBeGreaterThan(10);
      expect(outcomes.refused).toBeGreaterThan(500);
    },
    watchdog,
  );

  it(
    'of safetensors give typed errors or consistent tensors',
    async () => {
      const folder = join(directory, 'fuzz');
      const shape = {
        hiddenSize: 8,
        intermediateSize: 8,
        numLayers: 1,
        numHeads: 2,
        numKvHeads: 1,
        vocabSize: 270,
        contextLength: 8,
      };
      await writeSyntheticLlama(folder, { shape, dtype: 'bf16' });
      const original = new Uint8Array(await readFile(join(folder, 'model.safetensors')));
      const { dataOffset } = await readSafetensors(new MemoryFile(original));
      const outcomes = { done: 0, refused: 0 };
      await fc.assert(
        fc.asyncProperty(mutation, async (change) => {
          const bytes = mutate(original, change, dataOffset);
          outcomes[await outcome(() => openAndReadAll(folder, bytes))]++;
        }),
        { seed: 12, numRuns: 500 },
      );
      expect(outcomes.done).toBeGreaterThan(5);
      expect(outcomes.refused).toBeGreaterThan(200);
    },
    watchdog,
  );

  it(
    'of nothing but noise give typed errors',
    async () => {
      const path = await putFile(directory, 'noise.gguf', 'placeholder');
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (noise, withStart) => {
          const start = withStart ? [0x47, 0x47, 0x55, 0x46, 3, 0, 0, 0] : [];
          expect(await outcome(() => openAndReadAll(path, new Uint8Array([...start, ...noise])))).toBe('refused');
        }),
        { seed: 13, numRuns: 500 },
      );
    },
    watchdog,
  );
});
