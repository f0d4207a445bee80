import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { smallGraph } from '../__fixtures__/small-graph.ts';
import type { Graph } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { mergeLinears } from '../passes/merge-linears.ts';
import { assignStorage } from './assign-storage.ts';

function viewOf(graph: Graph, name: string) {
  return assignStorage(graph).views[graph.values.findIndex((value) => value.name === name)];
}

describe('assignStorage', () => {
  it('lays the parts of a linear side by side in one buffer', () => {
    const graph = mergeLinears(smallGraph());
    const [q, k, v] = ['q_proj', 'k_proj', 'v_proj'].map((name) => viewOf(graph, `layers.0.${name}`)!);
    expect([q, k, v].map((view) => view?.column)).toEqual([0, 12, 16]);
    expect(new Set([q, k, v].map((view) => view?.buffer)).size).toBe(1);
  });

  it('keeps ropes, sums and gated activations in place', () => {
    const graph = mergeLinears(smallGraph());
    for (const [made, from] of [
      ['layers.0.q_rope', 'layers.0.q_proj'],
      ['layers.0.attn_residual', 'embed'],
      ['layers.0', 'embed'],
      ['layers.0.act', 'layers.0.gate_proj'],
    ] as const) {
      expect(viewOf(graph, made), made).toEqual(viewOf(graph, from));
    }
  });

  it('gives a gated activation a buffer of its own when its gate is read again', () => {
    const g = new GraphBuilder({ name: 'gate', hiddenSize: 4, vocabSize: 5, contextLength: 8 });
    const x = g.embed(g.weight('e.weight', [5, 4]));
    const gate = g.linear(x, g.weight('gate.weight', [4, 4]));
    const act = g.gatedActivation('silu', gate, x, { name: 'act' });
    const hidden = g.outputRows(g.add(act, gate, { name: 'sum' }));
    const graph = g.outputs({ hidden, logits: g.linear(hidden, g.weight('h.weight', [5, 4])) });
    expect(viewOf(graph, 'act')).not.toEqual(viewOf(graph, 'gate'));
  });

  it('refuses to overwrite a value that is still read, and names both', () => {
    const g = new GraphBuilder({ name: 'bad', hiddenSize: 4, vocabSize: 5, contextLength: 8 });
    const x = g.embed(g.weight('e.weight', [5, 4]));
    const sum = g.add(x, g.linear(x, g.weight('p.weight', [4, 4])), { name: 'sum' });
    const late = g.add(sum, x, { name: 'late' });
    const hidden = g.outputRows(late);
    const graph = g.outputs({ hidden, logits: g.linear(hidden, g.weight('h.weight', [5, 4])) });
    expect(() => assignStorage(graph)).toThrow(InvalidArgumentError);
    expect(() => assignStorage(graph)).toThrow('sum is made over e, which is still read later by late.');
  });
});
