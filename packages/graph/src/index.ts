export type {
  AddNode,
  AddRmsNormNode,
  AttentionNode,
  EmbedNode,
  GatedActivationNode,
  Graph,
  LinearNode,
  LinearPart,
  Node,
  OutputRowsNode,
  RmsNormNode,
  RopeNode,
  RopeTableNode,
  ValueId,
  ValueSpec,
} from './graph.ts';
export { type AttentionAttributes, GraphBuilder, type ModelShape, type Value, type Weight } from './graph-builder.ts';
export { type LowerOptions, lower } from './lower.ts';
