import type { AddNode, Graph, Node, RmsNormNode } from '../graph.ts';

/**
 * Joins a residual add and the norm of its sum into one node at the place of the add, so that a backend walks the row once
 * while it is in cache. When several norms read the sum, the first is taken.
 */
export function fuseAddRmsNorm(graph: Graph): Graph {
  const normOf = new Map<AddNode, RmsNormNode>();
  for (const add of graph.nodes) {
    if (add.kind !== 'add') continue;
    const norm = graph.nodes.find((node) => node.kind === 'rms-norm' && node.x === add.out && isWholeRow(graph, node));
    if (norm?.kind === 'rms-norm') normOf.set(add, norm);
  }
  const fused = new Set<Node>(normOf.values());
  const nodes = graph.nodes.flatMap((node): Node[] => {
    if (fused.has(node)) return [];
    const norm = node.kind === 'add' ? normOf.get(node) : undefined;
    if (node.kind !== 'add' || !norm) return [node];
    const { residual, delta, out: sum } = node;
    const { weight, eps, out } = norm;
    return [{ kind: 'add-rms-norm', residual, delta, weight, eps, sum, out }];
  });
  return { ...graph, nodes };
}

/** Norms over each head of a row are another op. */
function isWholeRow(graph: Graph, { x, weight }: RmsNormNode): boolean {
  return graph.values[x]!.width === graph.weights[weight]!.shape[0];
}
