import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { bundledGoldens } from './find-goldens.ts';
import { openGoldenModel } from './golden-model.ts';
import { replayGoldens } from './replay.ts';

const fixtures = new Map((await bundledGoldens()).map((goldens) => [goldens.manifest.model.id, goldens]));
const backend = createReferenceBackend();

afterAll(() => backend.dispose());

const layer = 'prefill/model.layers.0';

describe('a setting that is read wrongly is named by the first boundary that it changes', () => {
  it.each<[string, Record<string, unknown>, string]>([
    ['tiny-mistral', { sliding_window: 9 }, `${layer}.self_attn.attention`],
    ['tiny-mistral-full', { sliding_window: 8 }, `${layer}.self_attn.attention`],
    [
      'tiny-qwen2',
      { use_sliding_window: true, layer_types: ['sliding_attention', 'full_attention'] },
      `${layer}.self_attn.attention`,
    ],
    ['tiny-qwen3', { rms_norm_eps: 1e-4 }, `${layer}.input_layernorm`],
    ['tiny-qwen3-moe', { norm_topk_prob: false }, `${layer}.mlp`],
    ['tiny-qwen3-moe', { num_experts_per_tok: 3 }, `${layer}.mlp`],
    ['tiny-gpt2', { layer_norm_epsilon: 1e-4 }, 'prefill/transformer.h.0.ln_1'],
    ['tiny-gemma2', { attn_logit_softcapping: 50 }, `${layer}.self_attn.attention`],
    ['tiny-gemma2', { final_logit_softcapping: 30 }, 'prefill/lm_head'],
    ['tiny-gemma2', { query_pre_attn_scalar: 20 }, `${layer}.self_attn.attention`],
    ['tiny-gemma3', { rope_local_base_freq: 1_000_000 }, 'rope_local/inv_freq'],
    ['tiny-gemma3', { rope_theta: 10_000 }, 'rope/inv_freq'],
    [
      'tiny-gemma3',
      { layer_types: Array.from({ length: 7 }, () => 'sliding_attention') },
      'prefill/model.layers.5.self_attn.q_rope',
    ],
    ['tiny-phi3', { original_max_position_embeddings: 640 }, 'rope/inv_freq'],
    ['tiny-llama-yarn', { rope_scaling: null }, 'rope/inv_freq'],
  ])('%s with %j: %s', async (name, changes, firstBoundary) => {
    const goldens = fixtures.get(`hearth/${name}`)!;
    const checkpoint = await openGoldenModel(goldens, { fileMapper: backend.fileMapper });
    try {
      const changed = { ...checkpoint, config: { ...checkpoint.config, ...changes } };
      const report = await replayGoldens({ checkpoint: changed, backend, goldens, prompts: [] });
      expect(report.firstMismatch?.key).toBe(firstBoundary);
    } finally {
      await checkpoint.close();
    }
  });
});
