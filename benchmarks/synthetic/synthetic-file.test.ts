import { describe, expect, it } from 'vitest';
import { type ShapeName, shapeNames } from './shapes.ts';
import { syntheticFile } from './synthetic-file.ts';

/** As their model cards count them. */
const published: Readonly<Record<ShapeName, number>> = {
  'llama-1.1b': 1_100_048_384,
  'smollm2-135m': 134_515_008,
  'qwen2.5-0.5b': 494_032_768,
  'qwen2.5-1.5b': 1_543_714_304,
  'llama-3.2-1b': 1_235_814_400,
  'llama-3.2-3b': 3_212_749_824,
};

const finerLayers = (dtypes: ReadonlyMap<string, string>, module: string) =>
  [...dtypes].filter(([name, dtype]) => name.endsWith(`.${module}.weight`) && dtype === 'q6_k').map(([name]) => name);

describe('syntheticFile', () => {
  it.each(shapeNames)('%s has as many parameters as the published model', async (shape) => {
    const { weights } = await syntheticFile(shape, 'f16');
    const count = weights.reduce((sum, { shape: dims }) => sum + dims.reduce((product, dim) => product * dim, 1), 0);
    expect(count).toBe(published[shape]);
  });

  it('mixes q4_k_m: a finer head, and half of the layers with finer values and down projections', async () => {
    const { dtypes } = await syntheticFile('llama-1.1b', 'q4_k_m');
    expect(dtypes.get('model.embed_tokens.weight')).toBe('q4_k');
    expect(dtypes.get('lm_head.weight')).toBe('q6_k');
    expect(dtypes.get('model.layers.0.self_attn.q_proj.weight')).toBe('q4_k');
    // Of 22 layers: 0 and 1, then every third from 4 on, then 19 to 21.
    const finer = [0, 1, 4, 7, 10, 13, 16, 19, 20, 21];
    for (const module of ['self_attn.v_proj', 'mlp.down_proj']) {
      expect(finerLayers(dtypes, module)).toEqual(finer.map((layer) => `model.layers.${layer}.${module}.weight`));
    }
  });

  it('takes the stand-ins where rows fit no block of 256, and a finer table where it is the head', async () => {
    const { dtypes } = await syntheticFile('qwen2.5-0.5b', 'q4_k_m');
    expect(dtypes.get('model.embed_tokens.weight')).toBe('q8_0');
    expect(dtypes.get('model.layers.0.self_attn.v_proj.weight')).toBe('q8_0');
    expect(dtypes.get('model.layers.4.self_attn.v_proj.weight')).toBe('q5_0');
    expect(dtypes.get('model.layers.0.mlp.down_proj.weight')).toBe('q6_k');
    expect(dtypes.get('model.layers.0.self_attn.q_proj.bias')).toBe('f32');
  });

  it('names what there is when asked for something else', async () => {
    await expect(syntheticFile('llama-7b', 'q4_0')).rejects.toThrow(
      /no shape llama-7b; there are llama-1\.1b, smollm2/,
    );
    await expect(syntheticFile('llama-1.1b', 'q4_k')).rejects.toThrow(/no format q4_k; there are f16, q8_0/);
  });
});
