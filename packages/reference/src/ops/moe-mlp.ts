import type { Activation } from '@hearth/core';
import { checkFinite } from '../check-finite.ts';
import type { EventLoopTurn } from '../event-loop-turn.ts';
import type { Matrix } from '../matrix.ts';
import type { Rows } from '../rows.ts';
import { type Choice, chooseExperts } from './choose-experts.ts';
import { gatedActivation } from './gated-activation.ts';
import { gatherRows } from './gather-rows.ts';
import { linear } from './linear.ts';

/** A gated MLP: gate and up [expertWidth, hidden], down [hidden, expertWidth]. */
export interface Expert {
  readonly gate: Matrix;
  readonly up: Matrix;
  readonly down: Matrix;
}

export interface MoeMlp {
  /** The boundary, for errors. */
  readonly name: string;
  readonly experts: readonly Expert[];
  readonly numExpertsPerToken: number;
  readonly normalizeWeights: boolean;
  readonly activation: Activation;
}

/**
 * A mixture of gated MLPs (Shazeer et al. 2017): out = Σ over a row's experts, in ascending id, of weight · expert(x)
 *
 * x, out [numRows, hidden], routerLogits [numRows, experts]. Expert by expert, over the rows that chose it.
 * @throws NumericError also for values within an expert, which a later product could hide
 */
export async function moeMlp(
  moe: MoeMlp,
  x: Rows,
  routerLogits: Rows,
  out: Rows,
  numRows: number,
  turn: EventLoopTurn,
): Promise<void> {
  const choices: Choice[][] = [];
  for (let t = 0; t < numRows; t++) {
    choices.push(chooseExperts(routerLogits, t, moe.numExpertsPerToken, moe.normalizeWeights));
    const to = out.offset + t * out.stride;
    out.data.fill(0, to, to + out.width);
  }
  for (const [id, expert] of moe.experts.entries()) {
    const chosen = choices.flatMap((ofRow, row) =>
      ofRow.filter((choice) => choice.expert === id).map(({ weight }) => ({ row, weight })),
    );
    if (chosen.length === 0) continue;
    const rows = Int32Array.from(chosen, ({ row }) => row);
    const y = await runExpert(moe, expert, x, rows, turn);
    for (const [i, { row, weight }] of chosen.entries()) addScaled(out, row, weight, y, i);
  }
}

/** down · (activation(gate · x) · (up · x)) over the given rows of x: [rowIds.length, hidden] */
async function runExpert(moe: MoeMlp, expert: Expert, x: Rows, rowIds: Int32Array, turn: EventLoopTurn): Promise<Rows> {
  const numRows = rowIds.length;
  const expertWidth = expert.gate.rows;
  const inputs = emptyRows(numRows, x.width);
  gatherRows(x, rowIds, inputs);
  const gateUp = emptyRows(numRows, 2 * expertWidth);
  const parts = [expert.gate, expert.up].map((weight) => ({ weight, bias: null }));
  await linear(inputs, parts, gateUp, numRows, turn);
  checkFinite(gateUp, numRows, moe.name);
  const gate = { ...gateUp, width: expertWidth };
  const up = { ...gate, offset: expertWidth };
  gatedActivation(moe.activation, gate, up, gate, numRows);
  checkFinite(gate, numRows, moe.name);
  const y = emptyRows(numRows, x.width);
  await linear(gate, [{ weight: expert.down, bias: null }], y, numRows, turn);
  return y;
}

/** out[row] = out[row] + weight · y[yRow], the product rounded before the sum */
function addScaled(out: Rows, row: number, weight: number, y: Rows, yRow: number): void {
  const to = out.offset + row * out.stride;
  const from = y.offset + yRow * y.stride;
  for (let i = 0; i < out.width; i++) {
    out.data[to + i] = out.data[to + i]! + Math.fround(weight * y.data[from + i]!);
  }
}

function emptyRows(numRows: number, width: number): Rows {
  return { data: new Float32Array(numRows * width), offset: 0, stride: width, width };
}
