import { InvalidArgumentError, type RowKind, type View } from '@hearth/core';
import { type Graph, type Node, nodeInputs, nodeOutputs, type ValueId } from '../graph.ts';

/** A buffer before it has a place in the arena, with the nodes between which it is alive, both included. */
export interface PlannedBuffer {
  readonly rows: RowKind;
  readonly width: number;
  readonly firstNode: number;
  readonly lastNode: number;
}

export interface Storage {
  readonly buffers: readonly PlannedBuffer[];
  /** Where each value lies, by value id. Values share a view where one is made from the other in place. */
  readonly views: readonly View[];
}

/**
 * Gives every value a view of a buffer: nodes that work in place keep their input's view, a split cuts it up, the parts of a
 * linear lie side by side in one buffer, everything else gets a buffer of its own.
 *
 * @throws InvalidArgumentError when a node would overwrite a value that is read later
 */
export function assignStorage(graph: Graph): Storage {
  const lastUse = findLastUses(graph);
  const views: View[] = [];
  const buffers: { rows: RowKind; width: number; firstNode: number; lastNode: number }[] = [];
  for (const [index, node] of graph.nodes.entries()) {
    if (node.kind === 'split') {
      requireLastUse(graph, lastUse, index, node.x, node.outs[0]!);
      let { column } = views[node.x]!;
      for (const out of node.outs) {
        const { width } = graph.values[out]!;
        views[out] = { buffer: views[node.x]!.buffer, column, width };
        column += width;
      }
      continue;
    }
    const inPlace = inPlacePair(node);
    const outputs = nodeOutputs(node);
    const fresh = outputs.filter((out) => {
      if (out !== inPlace?.output) return true;
      if (lastUse[inPlace.input] === index) {
        views[out] = views[inPlace.input]!;
        return false;
      }
      if (inPlace.required) requireLastUse(graph, lastUse, index, inPlace.input, out);
      return true;
    });
    // Only a linear's parts share a buffer; the two outputs of other nodes do not.
    for (const group of node.kind === 'linear' ? [fresh] : fresh.map((out) => [out])) {
      let width = 0;
      for (const out of group) {
        views[out] = { buffer: buffers.length, column: width, width: graph.values[out]!.width };
        width += graph.values[out]!.width;
      }
      buffers.push({ rows: graph.values[group[0]!]!.rows, width, firstNode: index, lastNode: index });
    }
  }
  for (const [value, view] of views.entries()) {
    const buffer = buffers[view.buffer]!;
    buffer.lastNode = Math.max(buffer.lastNode, lastUse[value]!);
  }
  return { buffers, views };
}

/** The last node that reads each value; the node that makes it when none does; past the end for the graph's outputs. */
function findLastUses(graph: Graph): number[] {
  const lastUse: number[] = [];
  for (const [index, node] of graph.nodes.entries()) {
    for (const out of nodeOutputs(node)) lastUse[out] = index;
    for (const input of nodeInputs(node)) lastUse[input] = index;
  }
  lastUse[graph.hidden] = graph.nodes.length;
  lastUse[graph.logits] = graph.nodes.length;
  return lastUse;
}

/** `out` is made over `input`, so no node after this one may read it. */
function requireLastUse(graph: Graph, lastUse: readonly number[], index: number, input: ValueId, out: ValueId): void {
  const last = lastUse[input]!;
  if (last === index) return;
  throw new InvalidArgumentError(
    `${valueName(graph, out)} is made over ${valueName(graph, input)}, which is still read later by ${nodeName(graph, graph.nodes[last])}.`,
  );
}

interface InPlacePair {
  readonly input: ValueId;
  readonly output: ValueId;
  /** Whether the op has no other form. */
  readonly required: boolean;
}

function inPlacePair(node: Node): InPlacePair | null {
  switch (node.kind) {
    case 'rope':
    case 'softcap':
      return { input: node.x, output: node.out, required: true };
    case 'activation':
      return { input: node.x, output: node.out, required: false };
    case 'add':
      return { input: node.residual, output: node.out, required: true };
    case 'add-rms-norm':
      return { input: node.residual, output: node.sum, required: true };
    case 'gated-activation':
      return { input: node.gate, output: node.out, required: false };
    default:
      return null;
  }
}

function valueName(graph: Graph, value: ValueId): string {
  return graph.values[value]!.name;
}

function nodeName(graph: Graph, node: Node | undefined): string {
  return node ? valueName(graph, nodeOutputs(node)[0]!) : "the graph's outputs";
}
