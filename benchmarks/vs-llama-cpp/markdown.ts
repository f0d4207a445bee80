import { plusMinus, table } from '../markdown-table.ts';
import type { FormatName } from '../synthetic/formats.ts';
import { aimedCells, type Cell } from './aims.ts';
import { type MeasuredCell, type Results, verdictOf } from './results.ts';

const verdicts = { aim: 'aim reached', done: 'done, below the aim', below: '**below the least**' } as const;

/** The whole report: what ran, the table of aims filled in, every cell with its figures. */
export function markdown(results: Results): string {
  return [description(results), aimTable(results.cells), figureTable(results.cells)].join('\n\n').concat('\n');
}

function description({ machine, commit, date, threads, hearth, peer, peerBuild, leftOut, cells }: Results): string {
  const aimed = cells.map(verdictOf).filter((verdict) => verdict !== undefined);
  const count = (verdict: (typeof aimed)[number]) => aimed.filter((each) => each === verdict).length;
  const lines = [
    `${machine}; ${threads} threads; commit ${commit}; ${date.slice(0, 10)}.`,
    `Hearth: ${hearth}. Peer: ${peer}; it reports \`${peerBuild}\`.`,
    `Of ${aimed.length} cells with an aim ${count('aim')} reach it, ${count('done')} reach the least, ${count('below')} are below.`,
  ];
  if (leftOut.length > 0) {
    const names = leftOut.map((cell) => `${cell.shape} ${cell.format} ${placeOf(cell)}`);
    lines.push(`Not measured in the time there was: ${names.join('; ')}.`);
  }
  return lines.join('\n');
}

/** Rows are places, columns formats: `2.71 (3.5 / 2.2)`, ratio, aim and least. Aims that were not measured have a dash. */
function aimTable(cells: readonly MeasuredCell[]): string {
  const rows = new Map<string, Map<string, string>>();
  for (const cell of aimedCells) {
    const label = `${placeOf(cell)}, ${cell.shape}`;
    const row = rows.get(label) ?? new Map<string, string>();
    const found = cells.find((each) => isSamePlace(each, cell));
    const mark = found && verdictOf(found) === 'below' ? ' **below**' : '';
    row.set(cell.format, `${found?.ratio.toFixed(2) ?? '–'} (${cell.aim} / ${cell.least})${mark}`);
    rows.set(label, row);
  }
  const formats = ['q4_0', 'q8_0', 'q4_k_m', 'f16'] as const satisfies readonly FormatName[];
  return table(
    ['Ratio (aim / least)', ...formats],
    [...rows].map(([label, row]) => [label, ...formats.map((format) => row.get(format) ?? '')]),
  );
}

function figureTable(cells: readonly MeasuredCell[]): string {
  const columns = [
    'Shape',
    'Format',
    'Cell',
    'Hearth, tokens/s',
    'Peer, tokens/s',
    'Ratio',
    'Rounds',
    'Aim',
    'Least',
    '',
  ];
  const rows = cells.map((cell) => {
    const verdict = verdictOf(cell);
    return [
      ...[cell.shape, cell.format, placeOf(cell)],
      `${cell.hearth.toFixed(1)} ${plusMinus(cell.hearthSpread)}`,
      `${cell.peer.toFixed(1)} ${plusMinus(cell.peerSpread)} (${cell.peerAttention})`,
      `${cell.ratio.toFixed(2)} ${plusMinus(cell.spread)}`,
      `${cell.rounds}`,
      ...[cell.aim ?? '', cell.least ?? '', verdict ? verdicts[verdict] : ''].map(String),
    ];
  });
  return table(columns, rows);
}

export function placeOf({ phase, context }: Cell): string {
  return phase === 'prefill' ? `prefill ${context}` : `decode at ${context}`;
}

function isSamePlace(a: Cell, b: Cell): boolean {
  return a.shape === b.shape && a.format === b.format && a.phase === b.phase && a.context === b.context;
}
