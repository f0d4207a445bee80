import { describe, expect, it } from 'vitest';
import { smallGraph } from '../__fixtures__/small-graph.ts';
import type { Graph } from '../graph.ts';
import { mergeLinears } from './merge-linears.ts';

function linears(graph: Graph): string[][] {
  return graph.nodes.flatMap((node) =>
    node.kind === 'linear' ? [node.parts.map(({ out }) => graph.values[out]!.name)] : [],
  );
}

describe('mergeLinears', () => {
  it('joins linears that share an input, in order, at the place of the first', () => {
    const merged = mergeLinears(smallGraph());
    expect(linears(merged)).toEqual([
      ['layers.0.q_proj', 'layers.0.k_proj', 'layers.0.v_proj'],
      ['layers.0.o_proj'],
      ['layers.0.gate_proj', 'layers.0.up_proj'],
      ['layers.0.down_proj'],
      ['lm_head'],
    ]);
    // v_proj stood behind the ropes of q and k; it moved up.
    const kinds = merged.nodes.map(({ kind }) => kind);
    expect(kinds.indexOf('linear')).toBeLessThan(kinds.indexOf('rope'));
  });

  it('keeps each bias with its weight', () => {
    const graph = mergeLinears(smallGraph());
    const qkv = graph.nodes.find((node) => node.kind === 'linear');
    const biases = qkv?.kind === 'linear' ? qkv.parts.map(({ bias }) => bias) : [];
    expect(biases.map((bias) => (bias === null ? null : graph.weights[bias]!.name))).toEqual([
      null,
      null,
      'layers.0.v_proj.bias',
    ]);
  });

  it('leaves the given graph as it is, and a merged one too', () => {
    const graph = smallGraph();
    const before = structuredClone(graph);
    const merged = mergeLinears(graph);
    expect(graph).toEqual(before);
    expect(mergeLinears(merged)).toEqual(merged);
  });
});
