import type { Op, View } from '@hearth/core';
import type { Graph, LinearNode, Node, ValueId } from './graph.ts';

/** The ops of one node, over the views that its values were given. */
export function emitOps(graph: Graph, views: readonly View[], node: Node): Op[] {
  const name = (value: ValueId) => graph.values[value]!.name;
  const view = (value: ValueId) => views[value]!;
  switch (node.kind) {
    case 'embed':
      return [
        {
          kind: 'embed',
          name: name(node.out),
          weight: node.weight,
          ids: node.ids,
          scale: node.scale,
          out: view(node.out),
        },
      ];
    case 'rope-table':
      return [{ kind: 'rope-table', name: name(node.out), rope: node.rope, out: view(node.out) }];
    case 'rms-norm': {
      const { weight, eps } = node;
      return [{ kind: 'rms-norm', name: name(node.out), x: view(node.x), weight, eps, out: view(node.out) }];
    }
    case 'layer-norm': {
      const { weight, bias, eps } = node;
      return [{ kind: 'layer-norm', name: name(node.out), x: view(node.x), weight, bias, eps, out: view(node.out) }];
    }
    case 'linear':
      return [
        {
          kind: 'linear',
          name: joinNames(node.parts.map((part) => name(part.out))),
          x: view(node.x),
          weights: node.parts.map((part) => part.weight),
          biases: node.parts.map((part) => part.bias),
          out: wholeView(views, node),
        },
      ];
    case 'split':
      return [];
    case 'rope': {
      const { headDim, rotaryDim } = node;
      return [{ kind: 'rope', name: name(node.out), x: view(node.out), table: view(node.table), headDim, rotaryDim }];
    }
    case 'attention': {
      const { layer, numHeads, scale, window, softcap } = node;
      const out = name(node.out);
      return [
        // `….self_attn.attention` fills `….self_attn.kv_cache` first.
        { kind: 'write-cache', name: siblingName(out, 'kv_cache'), layer, k: view(node.k), v: view(node.v) },
        {
          kind: 'attention',
          name: out,
          layer,
          q: view(node.q),
          out: view(node.out),
          numHeads,
          scale,
          window,
          softcap,
        },
      ];
    }
    case 'activation': {
      const { activation } = node;
      return [{ kind: 'activation', name: name(node.out), activation, x: view(node.x), out: view(node.out) }];
    }
    case 'gated-activation': {
      const { activation } = node;
      const [gate, up, out] = [view(node.gate), view(node.up), view(node.out)];
      return [{ kind: 'gated-activation', name: name(node.out), activation, gate, up, out }];
    }
    case 'softcap':
      return [{ kind: 'softcap', name: name(node.out), x: view(node.out), cap: node.cap }];
    case 'moe-mlp': {
      const { gates, ups, downs, numExpertsPerToken, normalizeWeights, activation } = node;
      return [
        {
          kind: 'moe-mlp',
          name: name(node.out),
          x: view(node.x),
          routerLogits: view(node.routerLogits),
          gates,
          ups,
          downs,
          numExpertsPerToken,
          normalizeWeights,
          activation,
          out: view(node.out),
        },
      ];
    }
    case 'add':
      return [{ kind: 'add', name: name(node.out), residual: view(node.out), delta: view(node.delta) }];
    case 'add-rms-norm': {
      const { weight, eps } = node;
      return [
        {
          kind: 'add-rms-norm',
          name: name(node.out),
          sumName: name(node.sum),
          residual: view(node.sum),
          delta: view(node.delta),
          weight,
          eps,
          out: view(node.out),
        },
      ];
    }
    case 'output-rows':
      return [{ kind: 'gather-rows', name: name(node.out), x: view(node.x), out: view(node.out) }];
  }
}

/** The parts of a linear lie side by side, in order. */
function wholeView(views: readonly View[], node: LinearNode): View {
  const parts = node.parts.map((part) => views[part.out]!);
  const width = parts.reduce((sum, part) => sum + part.width, 0);
  return { buffer: parts[0]!.buffer, column: parts[0]!.column, width };
}

/** `a.q_proj`, `a.k_proj`, `a.v_proj` become `a.q_proj+k_proj+v_proj`. */
function joinNames(names: readonly string[]): string {
  const [first, ...rest] = names;
  return [first, ...rest.map((name) => name.slice(name.lastIndexOf('.') + 1))].join('+');
}

function siblingName(name: string, last: string): string {
  return name.slice(0, name.lastIndexOf('.') + 1) + last;
}
