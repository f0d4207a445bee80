import { InvalidArgumentError, type Op } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { smallGraph } from './__fixtures__/small-graph.ts';
import { lower } from './lower.ts';

function summary(ops: readonly Op[]): string[] {
  return ops.map((op) => `${op.kind} ${op.name}`);
}

describe('lower', () => {
  it('gives the ops of a decoder layer in order, fused', () => {
    expect(summary(lower(smallGraph()).ops)).toEqual([
      'rope-table model.rotary_emb',
      'embed embed',
      'rms-norm layers.0.norm',
      'linear layers.0.q_proj+k_proj+v_proj',
      'rope layers.0.q_rope',
      'rope layers.0.k_rope',
      'write-cache layers.0.kv_cache',
      'attention layers.0.attention',
      'linear layers.0.o_proj',
      'add-rms-norm layers.0.mlp_norm',
      'linear layers.0.gate_proj+up_proj',
      'gated-activation layers.0.act',
      'linear layers.0.down_proj',
      'add layers.0',
      'gather-rows model.output_rows',
      'rms-norm norm',
      'linear lm_head',
    ]);
  });

  it('leaves every op alone without fusion', () => {
    const kinds = lower(smallGraph(), { fuse: false }).ops.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'linear')).toHaveLength(8);
    expect(kinds).not.toContain('add-rms-norm');
  });

  it('captures directly after the op that makes the boundary, a part of a merged linear as a view of it', () => {
    const { ops, captures, buffers } = lower(smallGraph(), { captures: ['layers.0.k_proj', 'layers.0.attn_residual'] });
    expect(captures).toEqual([
      { name: 'layers.0.k_proj', rows: 'tokens', width: 4 },
      { name: 'layers.0.attn_residual', rows: 'tokens', width: 12 },
    ]);
    const at = ops.findIndex((op) => op.kind === 'capture');
    expect(summary(ops.slice(at - 1, at + 2))).toEqual([
      'linear layers.0.q_proj+k_proj+v_proj',
      'capture layers.0.k_proj',
      'rope layers.0.q_rope',
    ]);
    const capture = ops[at]!;
    expect(capture.kind === 'capture' && capture.x).toMatchObject({ column: 12, width: 4 });
    expect(capture.kind === 'capture' && buffers[capture.x.buffer]!.width).toBe(20);
  });

  it("captures 'all' boundaries, each once", () => {
    const graph = smallGraph(2);
    const { captures } = lower(graph, { captures: 'all' });
    expect(captures.map(({ name }) => name).sort()).toEqual(graph.values.map(({ name }) => name).sort());
  });

  it('refuses an unknown capture and lists the nearest names', () => {
    expect(() => lower(smallGraph(), { captures: ['layers.0.q_prj'] })).toThrow(InvalidArgumentError);
    expect(() => lower(smallGraph(), { captures: ['layers.0.q_prj'] })).toThrow(
      'small has no boundary named "layers.0.q_prj". The nearest are "layers.0.q_proj"',
    );
  });

  it('uses the same arena for 30 layers as for 2', () => {
    expect(lower(smallGraph(30)).arenaWidth).toEqual(lower(smallGraph(2)).arenaWidth);
  });

  it('is plain data', () => {
    const program = lower(smallGraph());
    expect(structuredClone(program)).toEqual(program);
  });
});
