import { describe, expect, it } from 'vitest';
import { architectureNames, familyBytes } from '../../__fixtures__/family-bytes.ts';
import { ggufBytes, u8 } from '../../__fixtures__/gguf-bytes.ts';
import { configOf, expectRefusal, f32Key, open, putGguf, u32Key } from '../../__fixtures__/open-family.ts';
import { openCheckpoint } from '../../open-checkpoint.ts';

describe('every family', () => {
  it.each(architectureNames)('%s: opens with the keys that its first converters wrote', async (architecture) => {
    const config = await configOf(architecture);
    expect(config.vocab_size).toBe(16);
    expect(config.tie_word_embeddings).toBe(true);
    expect(config.num_hidden_layers ?? config.n_layer).toBe(1);
  });

  it.each(architectureNames)('%s: opens as GGUF version 2, without "tokenizer.ggml.pre"', async (architecture) => {
    const file = ggufBytes({ ...familyBytes(architecture), version: 2 });
    const checkpoint = await openCheckpoint(await putGguf(file));
    expect(checkpoint.tokenizer).toMatchObject({ kind: 'gguf' });
    await checkpoint.close();
  });

  it.each(architectureNames)(
    '%s: refuses keys that change what is computed, and warns of unknown ones',
    async (name) => {
      await expectRefusal(name, { keys: { '.logit_scale': f32Key(2) } }, new RegExp(`"${name}\\.logit_scale" is 2`));
      await expectRefusal(name, { keys: { '.attention.causal': ['bool', u8(0)] } }, /attention\.causal" is false/);
      const checkpoint = await open(name, { keys: { '.attention.new_idea': u32Key(1) } });
      expect(checkpoint.warnings).toEqual([
        `Metadata keys that are not known were not used: ${name}.attention.new_idea.`,
      ]);
      await checkpoint.close();
      const alien = { moreTensors: [{ name: 'blk.0.ssm_a.weight', dims: [8] }] };
      await expectRefusal(name, alien, new RegExp(`"blk\\.0\\.ssm_a\\.weight" is not one that a ${name} model`));
    },
  );
});
