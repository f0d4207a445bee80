import type { Graph } from '@hearth/graph';
import type { BuildContext, ModelDefinition } from '../model-family.ts';
import type { DecoderConfig } from './decoder-config.ts';

/**
 * Whether the head is the embedding table. A config that does not say is taken at what its checkpoint holds: tied when there
 * is no `lm_head.weight`, and the default of Transformers when the tensors are not known.
 *
 * @param assumed what Transformers takes when the config does not say. Where that is `tied`, a head in the file changes nothing:
 *   Transformers overwrites it with the table.
 */
export function isTied(
  { tieWordEmbeddings }: { readonly tieWordEmbeddings: boolean | undefined },
  { hasTensor }: BuildContext,
  assumed: 'tied' | 'untied' = 'untied',
): boolean {
  if (tieWordEmbeddings !== undefined) return tieWordEmbeddings;
  return assumed === 'tied' || (hasTensor ? !hasTensor('lm_head.weight') : false);
}

/** A graph together with the facts of its config. */
export function modelDefinition(
  graph: Graph,
  config: Pick<
    DecoderConfig,
    'numHiddenLayers' | 'numAttentionHeads' | 'numKeyValueHeads' | 'headDim' | 'bosTokenId' | 'eosTokenIds'
  >,
  tiedEmbeddings: boolean,
  ignoredTensors: readonly RegExp[] = [],
): ModelDefinition {
  return {
    graph,
    numLayers: config.numHiddenLayers,
    numHeads: config.numAttentionHeads,
    numKvHeads: config.numKeyValueHeads,
    headDim: config.headDim,
    tiedEmbeddings,
    bosTokenId: config.bosTokenId,
    eosTokenIds: config.eosTokenIds,
    // Old exports carry the rotary frequencies; with a tied head some carry a copy of it.
    ignoredTensors: [
      /(^|\.)rotary_emb\.inv_freq$/,
      ...(tiedEmbeddings ? [/^lm_head\.weight$/] : []),
      ...ignoredTensors,
    ],
  };
}
