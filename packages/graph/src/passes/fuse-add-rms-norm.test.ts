import { describe, expect, it } from 'vitest';
import { smallGraph } from '../__fixtures__/small-graph.ts';
import { GraphBuilder } from '../graph-builder.ts';
import { fuseAddRmsNorm } from './fuse-add-rms-norm.ts';

describe('fuseAddRmsNorm', () => {
  it('joins each residual add with the norm of its sum', () => {
    const graph = smallGraph(2);
    const fused = fuseAddRmsNorm(graph);
    const names = fused.nodes.flatMap((node) =>
      node.kind === 'add-rms-norm' ? [`${graph.values[node.sum]!.name} -> ${graph.values[node.out]!.name}`] : [],
    );
    expect(names).toEqual([
      'layers.0.attn_residual -> layers.0.mlp_norm',
      'layers.0 -> layers.1.norm',
      'layers.1.attn_residual -> layers.1.mlp_norm',
    ]);
    // The last sum is gathered to output rows before its norm, so it stays an add.
    expect(fused.nodes.filter(({ kind }) => kind === 'add')).toHaveLength(1);
  });

  it('takes one norm when two read the sum', () => {
    const g = new GraphBuilder({ name: 'two', hiddenSize: 4, vocabSize: 5, contextLength: 8 });
    const x = g.embed(g.weight('e.weight', [5, 4]));
    const sum = g.add(x, g.linear(x, g.weight('p.weight', [4, 4])), { name: 'sum' });
    const first = g.rmsNorm(sum, g.weight('first.weight', [4]), 0);
    g.rmsNorm(sum, g.weight('second.weight', [4]), 0);
    const hidden = g.outputRows(first);
    const graph = g.outputs({ hidden, logits: g.linear(hidden, g.weight('h.weight', [5, 4])) });
    expect(fuseAddRmsNorm(graph).nodes.map(({ kind }) => kind)).toEqual([
      'embed',
      'linear',
      'add-rms-norm',
      'rms-norm',
      'output-rows',
      'linear',
    ]);
  });
});
