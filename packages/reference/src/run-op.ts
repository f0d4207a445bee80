import { type Batch, type Op, opAccess, type Program, type RowKind, type View } from '@hearth/core';
import { checkFinite } from './check-finite.ts';
import type { EventLoopTurn } from './event-loop-turn.ts';
import type { ReferenceKvCache } from './kv-cache.ts';
import { activation } from './ops/activation.ts';
import { add } from './ops/add.ts';
import { cachedAttention } from './ops/cached-attention.ts';
import { embed } from './ops/embed.ts';
import { gatedActivation } from './ops/gated-activation.ts';
import { gatherRows } from './ops/gather-rows.ts';
import { layerNorm } from './ops/layer-norm.ts';
import { linear } from './ops/linear.ts';
import { moeMlp } from './ops/moe-mlp.ts';
import { rmsNorm } from './ops/rms-norm.ts';
import { rope, ropeTable } from './ops/rope.ts';
import { scale } from './ops/scale.ts';
import { softcap } from './ops/softcap.ts';
import { writeCache } from './ops/write-cache.ts';
import type { BoundWeights } from './reference-weights.ts';
import { type Arenas, copyRows } from './rows.ts';

/** What the ops of one step work on. */
export interface StepState {
  readonly program: Program;
  readonly weights: BoundWeights;
  readonly arenas: Arenas;
  readonly cache: ReferenceKvCache;
  readonly batch: Batch;
  /** Rows in use of each kind. */
  readonly numRows: Readonly<Record<RowKind, number>>;
  readonly captures: Map<string, Float32Array>;
  readonly turn: EventLoopTurn;
}

/**
 * Runs one op over the step's rows, then checks that what it wrote is finite.
 * @throws NumericError | AbortError
 */
export async function runOp(op: Op, state: StepState): Promise<void> {
  await compute(op, state);
  for (const view of opAccess(op).writes) {
    const isSum = op.kind === 'add-rms-norm' && view === op.residual;
    checkFinite(state.arenas.rows(view), numRowsOf(state, view), isSum ? op.sumName : op.name);
  }
}

function compute(op: Op, state: StepState): void | Promise<void> {
  const { program, weights, arenas, cache, batch, turn } = state;
  const rows = (view: View) => arenas.rows(view);
  const numRows = (view: View) => numRowsOf(state, view);
  switch (op.kind) {
    case 'embed': {
      const ids = op.ids === 'tokens' ? batch.tokenIds : batch.positions;
      embed(weights.matrix(op.weight), ids, rows(op.out));
      if (op.scale !== 1) scale(rows(op.out), op.scale, numRows(op.out));
      return;
    }
    case 'rope-table':
      return ropeTable(program.ropes[op.rope]!, batch.positions, rows(op.out));
    case 'rms-norm':
      return rmsNorm(rows(op.x), weights.vector(op.weight), op.eps, rows(op.out), numRows(op.x));
    case 'layer-norm': {
      const [weight, bias] = [weights.vector(op.weight), weights.vector(op.bias)];
      return layerNorm(rows(op.x), weight, bias, op.eps, rows(op.out), numRows(op.x));
    }
    case 'add-rms-norm':
      add(rows(op.residual), rows(op.delta), numRows(op.residual));
      return rmsNorm(rows(op.residual), weights.vector(op.weight), op.eps, rows(op.out), numRows(op.residual));
    case 'add':
      return add(rows(op.residual), rows(op.delta), numRows(op.residual));
    case 'linear': {
      const parts = op.weights.map((id, i) => {
        const bias = op.biases[i] ?? null;
        return { weight: weights.matrix(id), bias: bias === null ? null : weights.vector(bias) };
      });
      return linear(rows(op.x), parts, rows(op.out), numRows(op.x), turn);
    }
    case 'rope':
      return rope(rows(op.x), rows(op.table), op.headDim, op.rotaryDim, numRows(op.x));
    case 'write-cache':
      return writeCache(cache, op, batch, rows(op.k), rows(op.v));
    case 'attention':
      return cachedAttention(cache, op, batch, rows(op.q), rows(op.out), turn);
    case 'activation':
      return activation(op.activation, rows(op.x), rows(op.out), numRows(op.x));
    case 'gated-activation':
      return gatedActivation(op.activation, rows(op.gate), rows(op.up), rows(op.out), numRows(op.gate));
    case 'softcap':
      return softcap(rows(op.x), op.cap, numRows(op.x));
    case 'moe-mlp': {
      const experts = op.gates.map((gate, i) => ({
        gate: weights.matrix(gate),
        up: weights.matrix(op.ups[i]!),
        down: weights.matrix(op.downs[i]!),
      }));
      return moeMlp({ ...op, experts }, rows(op.x), rows(op.routerLogits), rows(op.out), numRows(op.x), turn);
    }
    case 'gather-rows':
      return gatherRows(rows(op.x), batch.outputRows, rows(op.out));
    case 'capture':
      state.captures.set(program.captures[op.capture]!.name, copyRows(rows(op.x), numRows(op.x)));
      return;
  }
}

function numRowsOf({ arenas, numRows }: StepState, view: View): number {
  return numRows[arenas.kind(view)];
}
