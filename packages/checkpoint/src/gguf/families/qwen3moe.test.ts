import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { familyBytes, type KeyChanges } from '../../__fixtures__/family-bytes.ts';
import { counting, ggufBytes, u8 } from '../../__fixtures__/gguf-bytes.ts';
import { expectRefusal, f32Key, open, putGguf, u32Key } from '../../__fixtures__/open-family.ts';
import { openCheckpoint } from '../../open-checkpoint.ts';
import { readTensor } from '../../tensor/read-tensor.ts';

describe('qwen3moe', () => {
  it('shows the stacked experts one by one, by their places in the file', async () => {
    const checkpoint = await open('qwen3moe');
    expect(checkpoint.config).toMatchObject({
      ...{ num_experts: 3, num_experts_per_tok: 2, moe_intermediate_size: 6, norm_topk_prob: true },
    });
    const down = (expert: number) => checkpoint.tensors.get(`model.layers.0.mlp.experts.${expert}.down_proj.weight`)!;
    for (const expert of [0, 1, 2]) {
      expect(down(expert)).toMatchObject({ storedName: 'blk.0.ffn_down_exps.weight', shape: [8, 6], byteLength: 192 });
      expect(down(expert).offset).toBe(down(0).offset + 192 * expert);
      expect((await readTensor(down(expert)))[0]).toBe(48 * expert);
    }
    expect([...checkpoint.tensors.keys()].filter((name) => name.includes('experts'))).toHaveLength(9);
    expect(checkpoint.tensors.get('model.layers.0.mlp.gate.weight')!.shape).toEqual([3, 8]);
    await checkpoint.close();
  });

  it('opens with 128 experts in 94 layers', async () => {
    // No data is read, so each expert may be a single element.
    const dims = [1, 1, 128];
    const moreTensors = Array.from({ length: 93 }, (_, i) =>
      ['gate', 'up', 'down'].map((kind) => ({
        name: `blk.${i + 1}.ffn_${kind}_exps.weight`,
        dims,
        data: counting(128),
      })),
    ).flat();
    const file = familyBytes('qwen3moe', {
      keys: { '.expert_count': u32Key(128), '.block_count': u32Key(94) },
      moreTensors,
    });
    const tensors = file.tensors.filter(({ name }) => !/^blk\.0\.ffn_\w+_exps/.test(name as string));
    const checkpoint = await openCheckpoint(await putGguf(ggufBytes({ ...file, tensors })));
    expect(checkpoint.tensors.get('model.layers.93.mlp.experts.127.up_proj.weight')).toMatchObject({ shape: [1, 1] });
    expect([...checkpoint.tensors.keys()].filter((name) => name.includes('experts'))).toHaveLength(93 * 3 * 128);
    await checkpoint.close();
  });

  it('refuses stacks of other sizes, and more experts than memory should be spent on', async () => {
    const experts = (value: number) => ({ '.expert_count': u32Key(value) });
    await expectRefusal(
      'qwen3moe',
      { keys: experts(4) },
      /ffn_gate_exps\.weight" has the shape \[3, 6, 8\], expected \[4/,
      InvalidModelError,
    );
    for (const value of [0, 4097, 2 ** 32 - 1]) {
      await expectRefusal('qwen3moe', { keys: experts(value) }, /"qwen3moe\.expert_count" must be/, InvalidModelError);
    }
    await expectRefusal(
      'qwen3moe',
      { keys: { '.expert_used_count': u32Key(4) } },
      /expert_used_count" must be a whole number from 1 to 3/,
      InvalidModelError,
    );
    const flat = { moreTensors: [{ name: 'blk.0.ffn_up_exps.bias', dims: [8, 3] }] };
    await expectRefusal('qwen3moe', flat, /"blk\.0\.ffn_up_exps\.bias" has the shape \[3, 8\]/, InvalidModelError);
    // 66 stacks of 4096 are more tensors than any model has.
    const moreTensors = Array.from({ length: 66 }, (_, i) => ({
      name: `blk.${i + 1}.ffn_up_exps.weight`,
      dims: [1, 1, 4096],
    }));
    const file = familyBytes('qwen3moe', { keys: { ...experts(4096), '.block_count': u32Key(70) }, moreTensors });
    const tensors = file.tensors.filter(({ name }) => !/^blk\.0\.ffn_\w+_exps/.test(name as string));
    const path = await putGguf(ggufBytes({ ...file, tensors }));
    await expect(openCheckpoint(path)).rejects.toThrow(
      /has 4096 experts; with them the model has more than 262144 tensors/,
    );
  });

  it('refuses other ways of choosing experts', async () => {
    const refuse = (keys: KeyChanges, message: RegExp) => expectRefusal('qwen3moe', { keys }, message);
    await refuse({ '.expert_gating_func': u32Key(2) }, /expert_gating_func" is 2; it must be 1/);
    await refuse({ '.expert_weights_norm': ['bool', u8(0)] }, /expert_weights_norm" is false/);
    await refuse({ '.expert_weights_scale': f32Key(2.5) }, /expert_weights_scale" is 2.5/);
    await refuse({ '.expert_shared_count': u32Key(1) }, /expert_shared_count" is 1/);
  });
});
