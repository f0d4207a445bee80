import type { GgufArchitecture } from '../architecture.ts';
import { maxDimension, readNumLayers, readVocabSize, refuseWhatIsNotSaid } from '../decoder-config.ts';
import { putTokenIds, readTokenIds } from '../token-ids.ts';

/** GPT-2: learned positions, LayerNorm, and projections that GGUF keeps as [rows, columns], Hugging Face as [columns, rows]. */
export const gpt2: GgufArchitecture = {
  name: 'gpt2',
  modelTypes: ['gpt2'],
  tiedByDefault: true,
  tensors: {
    globals: new Map([
      ['token_embd.weight', 'transformer.wte.weight'],
      ['position_embd.weight', 'transformer.wpe.weight'],
      ['output_norm.weight', 'transformer.ln_f.weight'],
      ['output_norm.bias', 'transformer.ln_f.bias'],
      ['output.weight', 'lm_head.weight'],
    ]),
    layerPrefix: 'transformer.h',
    optionalPrefix: 'transformer.',
    modules: new Map([
      ['attn_norm', 'ln_1'],
      ['attn_qkv', 'attn.c_attn'],
      ['attn_output', 'attn.c_proj'],
      ['ffn_norm', 'ln_2'],
      ['ffn_up', 'mlp.c_fc'],
      ['ffn_down', 'mlp.c_proj'],
    ]),
    transposedModules: new Set(['attn.c_attn', 'attn.c_proj', 'mlp.c_fc', 'mlp.c_proj']),
    // The causal mask, and what is put in its place, as buffers.
    ignoredHuggingFace: /\.attn\.(masked_)?bias$/,
  },

  async readConfig(contents) {
    const { fields, tensors } = contents;
    refuseWhatIsNotSaid(fields);
    const vocabSize = readVocabSize(contents);
    const hiddenSize = fields.requiredInteger(fields.key('embedding_length'), 1, maxDimension);
    const numHeads = fields.requiredInteger(fields.key('attention.head_count'), 1, hiddenSize);
    const headsKey = fields.key('attention.head_count_kv');
    const numKvHeads = fields.integer(headsKey, 1, maxDimension) ?? numHeads;
    if (numKvHeads !== numHeads)
      fields.unsupported(headsKey, `is ${numKvHeads}, but a GPT-2 has as many as heads (${numHeads})`);
    return {
      architectures: ['GPT2LMHeadModel'],
      model_type: 'gpt2',
      n_embd: hiddenSize,
      n_inner: fields.requiredInteger(fields.key('feed_forward_length'), 1, maxDimension),
      n_layer: readNumLayers(contents),
      n_head: numHeads,
      n_positions: fields.requiredInteger(fields.key('context_length'), 1, maxDimension),
      layer_norm_epsilon: fields.requiredPositive(fields.key('attention.layer_norm_epsilon')),
      activation_function: 'gelu_new',
      vocab_size: vocabSize,
      tie_word_embeddings: !tensors.has('output.weight'),
      ...readTokenIds(fields),
    };
  },

  writeMetadata(config, metadata) {
    config.refuseUnless('activation_function', ['gelu_new']);
    config.refuseUnless('scale_attn_weights', [true]);
    config.refuseUnless('scale_attn_by_inverse_layer_idx', [false]);
    config.refuseUnless('add_cross_attention', [false]);
    const hiddenSize = config.requiredNumber('n_embd');
    metadata.u32('vocab_size', config.number('vocab_size'));
    metadata.u32('context_length', config.requiredNumber('n_positions'));
    metadata.u32('embedding_length', hiddenSize);
    metadata.u32('block_count', config.requiredNumber('n_layer'));
    metadata.u32('feed_forward_length', config.number('n_inner') ?? 4 * hiddenSize);
    metadata.u32('attention.head_count', config.requiredNumber('n_head'));
    metadata.f32('attention.layer_norm_epsilon', config.number('layer_norm_epsilon') ?? 1e-5);
    putTokenIds(config, metadata);
    return [];
  },
};
