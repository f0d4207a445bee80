import { type CaptureSpec, checkProgram, type Op, type Program } from '@hearth/core';
import { resolveCaptures } from './captures.ts';
import { emitOps } from './emit-ops.ts';
import { type Graph, nodeOutputs } from './graph.ts';
import { fuseAddRmsNorm } from './passes/fuse-add-rms-norm.ts';
import { mergeLinears } from './passes/merge-linears.ts';
import { assignStorage } from './plan/assign-storage.ts';
import { planArena } from './plan/plan-arena.ts';

export interface LowerOptions {
  /** Boundaries to copy out of each step, by name, or all of them. For goldens and debugging. Default: none. */
  readonly captures?: readonly string[] | 'all';
  /** Whether to run the fusion passes. Both ways give the same bits; `false` is there to test that. Default: true. */
  readonly fuse?: boolean;
}

/**
 * Lowers a graph to a program: fusion passes, then storage and a place in the arena for every value, then ops. A capture
 * stands directly after the op that makes its boundary, before anything overwrites it.
 *
 * @throws InvalidArgumentError for an unknown capture, with near names, or a graph that overwrites what it still reads
 */
export function lower(graph: Graph, options: LowerOptions = {}): Program {
  const captured = resolveCaptures(graph, options.captures ?? []);
  const fused = options.fuse === false ? graph : fuseAddRmsNorm(mergeLinears(graph));
  const { buffers: planned, views } = assignStorage(fused);
  const { buffers, arenaWidth } = planArena(planned);

  const captures: CaptureSpec[] = [];
  const ops = fused.nodes.flatMap((node): Op[] => {
    const copies = nodeOutputs(node)
      .filter((value) => captured.has(value))
      .map((value): Op => {
        const { name, rows, width } = fused.values[value]!;
        return { kind: 'capture', name, x: views[value]!, capture: captures.push({ name, rows, width }) - 1 };
      });
    return [...emitOps(fused, views, node), ...copies];
  });

  const program: Program = {
    name: fused.name,
    hiddenSize: fused.hiddenSize,
    vocabSize: fused.vocabSize,
    contextLength: fused.contextLength,
    weights: fused.weights,
    buffers,
    arenaWidth,
    ropes: fused.ropes,
    cacheGroups: fused.cacheGroups,
    cacheLayers: fused.cacheLayers,
    ops,
    hidden: views[fused.hidden]!,
    logits: views[fused.logits]!,
    captures,
  };
  checkProgram(program);
  return program;
}
