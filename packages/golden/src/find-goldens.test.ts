import { describe, expect, it } from 'vitest';
import { bundledGoldens } from './find-goldens.ts';

describe('the bundled goldens', () => {
  it('are whole, and hold every tensor that their manifests list', async () => {
    const all = await bundledGoldens();
    expect(all.map(({ manifest }) => manifest.model.id)).toEqual([
      'HuggingFaceTB/SmolLM2-135M-Instruct',
      'hearth/tiny-llama',
    ]);
    for (const goldens of all) {
      for (const [key, { shape }] of goldens.manifest.tensors) {
        const values = await goldens.tensor(key);
        expect(values.length, key).toBe(shape.reduce((product, size) => product * size, 1));
      }
    }
  });

  it('have greedy runs whose best token is clear of the second by ten tolerances', async () => {
    for (const { manifest } of await bundledGoldens()) {
      const { greedy } = manifest;
      expect(greedy.prompts).toHaveLength(5);
      for (const { runs } of greedy.prompts) {
        for (const run of [runs.float32, runs.bfloat16]) {
          expect(run.smallestGap).toBeGreaterThanOrEqual(10 * greedy.logitTolerance.abs);
        }
      }
    }
  });
});
