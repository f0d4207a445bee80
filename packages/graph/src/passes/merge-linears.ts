import type { Graph, LinearNode, Node, ValueId } from '../graph.ts';

/**
 * Joins linears that read the same value (q, k, v; gate, up) into one node at the place of the first. A backend then
 * quantizes the input once, and has one longer list of rows to share among threads.
 *
 * Moving a linear up to the first is always right: its input is there already, and weights never change.
 */
export function mergeLinears(graph: Graph): Graph {
  const byInput = new Map<ValueId, LinearNode[]>();
  for (const node of graph.nodes) {
    if (node.kind !== 'linear') continue;
    const group = byInput.get(node.x);
    if (group) group.push(node);
    else byInput.set(node.x, [node]);
  }
  const nodes = graph.nodes.flatMap((node): Node[] => {
    if (node.kind !== 'linear') return [node];
    const group = byInput.get(node.x)!;
    if (group[0] !== node) return [];
    return [{ ...node, parts: group.flatMap((linear) => linear.parts) }];
  });
  return { ...graph, nodes };
}
