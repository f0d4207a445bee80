import type { ConfigReader } from './config-reader.ts';

/** What every family has, under the names of config.json in camelCase. */
export interface DecoderConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numHiddenLayers: number;
  readonly numAttentionHeads: number;
  readonly numKeyValueHeads: number;
  readonly headDim: number;
  readonly maxPositionEmbeddings: number;
  readonly rmsNormEps: number;
  /** Undefined when the config does not say; see `isTied`. */
  readonly tieWordEmbeddings: boolean | undefined;
  readonly bosTokenId: number | null;
  readonly eosTokenIds: readonly number[];
}

/** What Transformers takes for keys that are not there. */
export interface DecoderDefaults {
  readonly maxPositionEmbeddings: number;
  /** Default: 1e-6. */
  readonly rmsNormEps?: number;
  /** Default: hidden_size / num_attention_heads. */
  readonly headDim?: number;
  /** Default: num_attention_heads. */
  readonly numKeyValueHeads?: number;
}

/** Larger than any model, small enough that no product of two sizes loses precision. */
export const size = { min: 1, max: 2 ** 24 };
export const numLayersRange = { min: 1, max: 1024 };
export const numHeadsRange = { min: 1, max: 2 ** 16 };
/** The angles of RoPE are exact enough up to 2^20 positions (docs/numerics.md). */
export const positionsRange = { min: 1, max: 2 ** 20 };

/** Reads the keys that the families share. Sizes must be there, other keys may be absent. */
export function parseDecoderConfig(config: ConfigReader, defaults: DecoderDefaults): DecoderConfig {
  const hiddenSize = config.integer('hidden_size', size);
  const numAttentionHeads = config.integer('num_attention_heads', numHeadsRange);
  return {
    vocabSize: config.integer('vocab_size', size),
    hiddenSize,
    intermediateSize: config.integer('intermediate_size', size),
    numHiddenLayers: config.integer('num_hidden_layers', numLayersRange),
    numAttentionHeads,
    numKeyValueHeads: readNumKeyValueHeads(config, numAttentionHeads, defaults.numKeyValueHeads ?? numAttentionHeads),
    headDim: readHeadDim(config, hiddenSize, numAttentionHeads, defaults.headDim),
    maxPositionEmbeddings: config.integer('max_position_embeddings', {
      ...positionsRange,
      default: defaults.maxPositionEmbeddings,
    }),
    rmsNormEps: config.number('rms_norm_eps', { min: 0, max: 1, default: defaults.rmsNormEps ?? 1e-6 }),
    ...readTokens(config),
  };
}

/** The keys about tokens. */
export function readTokens(
  config: ConfigReader,
): Pick<DecoderConfig, 'tieWordEmbeddings' | 'bosTokenId' | 'eosTokenIds'> {
  const [bosTokenId = null] = config.tokenIds('bos_token_id');
  return {
    tieWordEmbeddings: config.boolean('tie_word_embeddings'),
    bosTokenId,
    eosTokenIds: config.tokenIds('eos_token_id'),
  };
}

function readNumKeyValueHeads(config: ConfigReader, numAttentionHeads: number, fallback: number): number {
  const key = 'num_key_value_heads';
  const range = { min: 1, max: numAttentionHeads, default: fallback };
  const numKeyValueHeads = config.orNull(key, () => config.integer(key, range)) ?? numAttentionHeads;
  if (numAttentionHeads % numKeyValueHeads !== 0) {
    config.fail(key, `a divisor of num_attention_heads (${numAttentionHeads})`);
  }
  return numKeyValueHeads;
}

function readHeadDim(config: ConfigReader, hiddenSize: number, numHeads: number, fallback?: number): number {
  if (fallback === undefined && !config.has('head_dim') && hiddenSize % numHeads !== 0) {
    config.fail('num_attention_heads', `a divisor of hidden_size (${hiddenSize}) when head_dim is not given`);
  }
  const headDim = config.integer('head_dim', { min: 2, max: 2 ** 12, default: fallback ?? hiddenSize / numHeads });
  if (headDim % 2 !== 0) config.fail('head_dim', 'even, because RoPE rotates pairs');
  return headDim;
}
