import type { FormatName } from '../synthetic/formats.ts';
import type { ShapeName } from '../synthetic/shapes.ts';

export type Phase = 'prefill' | 'decode';

/** One place of the table: what is measured on which model. */
export interface Cell {
  readonly shape: ShapeName;
  readonly format: FormatName;
  readonly phase: Phase;
  /** Tokens of the prompt (prefill), or before the first timed token but the one that starts a sequence (decode). */
  readonly context: number;
}

/** How many times as fast as the peer a cell shall be, and the least that counts as done. */
export interface Aim {
  readonly aim: number;
  readonly least: number;
}

type Aims = Partial<Record<FormatName, readonly [aim: number, least: number]>>;

/** The aims of the CPU kernels, on 2 threads: the only place that has them. */
const table: readonly (Omit<Cell, 'format'> & { readonly aims: Aims })[] = [
  {
    shape: 'llama-1.1b',
    phase: 'prefill',
    context: 500,
    aims: { q4_0: [3.5, 2.2], q8_0: [2.0, 1.4], q4_k_m: [2.5, 1.8], f16: [1.6, 1.2] },
  },
  { shape: 'llama-1.1b', phase: 'prefill', context: 1500, aims: { q4_0: [3.5, 2.2] } },
  {
    shape: 'llama-1.1b',
    phase: 'decode',
    context: 0,
    aims: { q4_0: [1.3, 1.1], q8_0: [1.15, 1.05], q4_k_m: [1.15, 1.0], f16: [1.05, 1.0] },
  },
  {
    shape: 'llama-1.1b',
    phase: 'decode',
    context: 1500,
    aims: { q4_0: [1.8, 1.4], q8_0: [1.5, 1.2], q4_k_m: [1.8, 1.4] },
  },
  {
    shape: 'smollm2-135m',
    phase: 'decode',
    context: 0,
    aims: { q4_0: [1.6, 1.3], q8_0: [1.4, 1.2], f16: [1.5, 1.2] },
  },
  {
    shape: 'smollm2-135m',
    phase: 'decode',
    context: 1500,
    aims: { q4_0: [2.5, 1.8], q8_0: [1.4, 1.2], f16: [1.5, 1.2] },
  },
  { shape: 'qwen2.5-0.5b', phase: 'prefill', context: 500, aims: { q4_0: [2.5, 1.8] } },
];

/** Every cell that has an aim, in the order of the table; cells of a model stand together. */
export const aimedCells: readonly (Cell & Aim)[] = table
  .flatMap(({ aims, ...row }) =>
    Object.entries(aims).map(([format, [aim, least]]) => ({ ...row, format: format as FormatName, aim, least })),
  )
  .sort((a, b) => modelOrder(a) - modelOrder(b));

function modelOrder({ shape, format }: Cell): number {
  const first = table.findIndex((row) => row.shape === shape);
  return first * 10 + ['q4_0', 'q8_0', 'q4_k_m', 'f16'].indexOf(format);
}

export function aimOf(cell: Cell): Aim | undefined {
  return aimedCells.find(
    (each) =>
      each.shape === cell.shape &&
      each.format === cell.format &&
      each.phase === cell.phase &&
      each.context === cell.context,
  );
}
