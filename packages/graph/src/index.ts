export type {
  AttentionAttributes,
  Expert,
  ModelShape,
  MoeAttributes,
  StoredForm,
  Value,
  Weight,
} from './definition.ts';
export type {
  ActivationNode,
  AddNode,
  AddRmsNormNode,
  AttentionNode,
  EmbedNode,
  GatedActivationNode,
  Graph,
  LayerNormNode,
  LinearNode,
  LinearPart,
  MoeMlpNode,
  Node,
  OutputRowsNode,
  RmsNormNode,
  RopeNode,
  RopeTableNode,
  SoftcapNode,
  SplitNode,
  ValueId,
  ValueSpec,
} from './graph.ts';
export { GraphBuilder } from './graph-builder.ts';
export { type LowerOptions, lower } from './lower.ts';
