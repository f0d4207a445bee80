import { InvalidArgumentError, InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { buildModel } from './build-model.ts';

const config = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 288,
  max_position_embeddings: 512,
  eos_token_id: [5, 6],
  bos_token_id: 1,
};

describe('buildModel', () => {
  it('gives the facts of the config and a program', async () => {
    const model = await buildModel(config);
    expect(model).toMatchObject({
      architecture: 'LlamaForCausalLM',
      numLayers: 2,
      numHeads: 4,
      numKvHeads: 2,
      headDim: 8,
      hiddenSize: 32,
      vocabSize: 288,
      contextLength: 512,
      bosTokenId: 1,
      eosTokenIds: [5, 6],
    });
    const program = model.createProgram({ captures: ['lm_head'] });
    expect(program.cacheLayers).toHaveLength(2);
    expect(program.captures.map(({ name }) => name)).toEqual(['lm_head']);
    expect(program.weights).toEqual(model.weights);
  });

  it.each(['mistral', 'toString', 5, {}])(
    'refuses the model_type %j, which is not that of the architecture',
    async (modelType) => {
      const build = buildModel({ ...config, model_type: modelType });
      await expect(build).rejects.toThrow(InvalidModelError);
      await expect(build).rejects.toThrow(/model_type in config.json must be/);
    },
  );

  it('takes a config that says its own model_type, or none', async () => {
    for (const model_type of ['llama', null]) {
      expect((await buildModel({ ...config, model_type })).architecture).toBe('LlamaForCausalLM');
    }
  });

  it.each<[string, boolean | undefined, string[] | undefined, boolean]>([
    ['says tied, no head in the checkpoint', true, ['model.embed_tokens.weight'], true],
    ['says tied, a head in the checkpoint', true, ['lm_head.weight'], true],
    ['says untied', false, ['lm_head.weight'], false],
    ['says untied, no head in the checkpoint', false, [], false],
    ['does not say, no head in the checkpoint', undefined, ['model.embed_tokens.weight'], true],
    ['does not say, a head in the checkpoint', undefined, ['lm_head.weight'], false],
    ['does not say, tensors not known', undefined, undefined, false],
  ])('when the config %s: tied = %4$s', async (_, tied, tensorNames, expected) => {
    const json = tied === undefined ? config : { ...config, tie_word_embeddings: tied };
    const model = await buildModel(json, tensorNames ? { tensorNames } : {});
    expect(model.tiedEmbeddings).toBe(expected);
    expect(model.weights.some(({ name }) => name === 'lm_head.weight')).toBe(!expected);
  });

  it('fixes scaling that depends on the length for the configured one, and says how far the model reaches', async () => {
    const dynamic = { ...config, rope_scaling: { rope_type: 'dynamic', factor: 4 } };
    const build = async (contextLength?: number) => {
      const { graph, contextLength: longest } = await buildModel(dynamic, { contextLength });
      expect(longest).toBe(2048);
      return graph.ropes[0]!.invFreq[1]!;
    };
    const unscaled = (await buildModel(config)).graph.ropes[0]!.invFreq[1];
    expect([await build(), await build(1), await build(512)]).toEqual([unscaled, unscaled, unscaled]);
    expect(await build(2048)).toBeLessThan(unscaled!);
    // A default of the caller may be more than the model can address.
    expect(await build(4096)).toBe(await build(2048));
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses a context length of %s', async (contextLength) => {
    const build = buildModel(config, { contextLength });
    await expect(build).rejects.toThrow(InvalidArgumentError);
    await expect(build).rejects.toThrow(/contextLength must be a whole number from 1 to 512/);
  });

  it('names an unknown architecture and lists the known ones', async () => {
    const build = buildModel({ ...config, architectures: ['MambaForCausalLM'] });
    await expect(build).rejects.toThrow(UnsupportedError);
    await expect(build).rejects.toThrow(/MambaForCausalLM is not supported. Supported are: LlamaForCausalLM/);
  });

  it.each([[undefined], [null], ['LlamaForCausalLM'], [[]], [['LlamaForCausalLM', 'MambaForCausalLM']], [[42]]])(
    'refuses architectures = %j',
    async (architectures) => {
      await expect(buildModel({ ...config, architectures })).rejects.toThrow(InvalidModelError);
    },
  );

  it('does not take a name of Object for an architecture', async () => {
    await expect(buildModel({ ...config, architectures: ['constructor'] })).rejects.toThrow(UnsupportedError);
  });
});
