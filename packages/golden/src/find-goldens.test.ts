import { describe, expect, it } from 'vitest';
import { bundledGoldens } from './find-goldens.ts';

describe('the bundled goldens', () => {
  it('are whole, and hold every tensor that their manifests list', async () => {
    const all = await bundledGoldens();
    expect(all.map(({ manifest }) => manifest.model.id)).toEqual([
      'HuggingFaceTB/SmolLM2-135M-Instruct',
      ...[
        ...['gemma2', 'gemma2-scalar', 'gemma3', 'gemma3-linear', 'gemma3-scalar', 'gpt2', 'llama', 'llama-dynamic'],
        ...['llama-linear', 'llama-llama3', 'llama-yarn', 'mistral', 'mistral-full', 'phi3', 'phi3-short', 'qwen2'],
        ...['qwen3', 'qwen3-moe', 'qwen3-moe-mixed'],
      ].map((name) => `hearth/tiny-${name}`),
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
      expect(greedy.prompts.length).toBeGreaterThanOrEqual(4);
      for (const { runs } of greedy.prompts) {
        for (const run of [runs.float32, runs.bfloat16]) {
          expect(run.smallestGap).toBeGreaterThanOrEqual(10 * greedy.logitTolerance.abs);
        }
      }
    }
  });
});
