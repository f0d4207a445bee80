import { plusMinus, table } from '../markdown-table.ts';
import type { MeasuredServing, ServingResults, Speed } from './results.ts';

/** What the batching is for: many at once beside one, and beside the peer with as many. */
export const aims: readonly { readonly model: string; readonly sequences: number; toSingle: number; toPeer: number }[] =
  [{ model: 'llama-1.1b-q4_0', sequences: 8, toSingle: 3, toPeer: 2 }];

/** The whole report: what ran, a row for each number of sequences, and how the aims are met. */
export function servingMarkdown(results: ServingResults): string {
  return [description(results), figures(results.cells), ...aimLines(results.cells)].join('\n\n').concat('\n');
}

function description({ machine, commit, date, threads, hearth, peer, leftOut }: ServingResults): string {
  const lines = [
    `${machine}; ${threads} threads; commit ${commit}; ${date.slice(0, 10)}.`,
    `Hearth: ${hearth}.${peer ? ` Peer: ${peer}.` : ''}`,
  ];
  if (leftOut.length > 0) {
    const names = leftOut.map(({ model, sequences, phase }) => `${model} ${phase} of ${sequences}`);
    lines.push(`Not measured in the time there was: ${names.join('; ')}.`);
  }
  return lines.join('\n');
}

function figures(cells: readonly MeasuredServing[]): string {
  const columns = [
    ...['Model', 'Sequences', 'Decode, tokens/s', 'x one sequence', 'Peer', 'x peer'],
    ...['Output, tokens/s', 'Peer', 'x peer', 'Rounds'],
  ];
  const places = new Set(cells.map(({ model, sequences }) => `${model} ${sequences}`));
  const rows = [...places].map((place) => {
    const here = cells.filter(({ model, sequences }) => `${model} ${sequences}` === place);
    const decode = here.find(({ phase }) => phase === 'decode');
    const output = here.find(({ phase }) => phase === 'output');
    return [
      ...place.split(' '),
      ...[tokens(decode?.hearth), ratio(decode?.toSingle), peerTokens(decode), ratio(decode?.toPeer)],
      ...[tokens(output?.hearth), peerTokens(output), ratio(output?.toPeer)],
      `${decode?.rounds ?? 0}, ${output?.rounds ?? 0}`,
    ];
  });
  return table(columns, rows);
}

function aimLines(cells: readonly MeasuredServing[]): string[] {
  return aims.flatMap(({ model, sequences, ...aim }) => {
    const cell = cells.find((c) => c.model === model && c.sequences === sequences && c.phase === 'decode');
    if (!cell) return [];
    const verdict = (speed: Speed | undefined, least: number, of: string) =>
      speed
        ? `${speed.median.toFixed(2)} times ${of} (aim ${least}: ${speed.median >= least ? 'reached' : '**below**'})`
        : [];
    const verdicts = [
      verdict(cell.toSingle, aim.toSingle, 'one sequence'),
      verdict(cell.toPeer, aim.toPeer, 'the peer'),
    ];
    return `${model}, ${sequences} sequences, decode: ${verdicts.flat().join(', ')}.`;
  });
}

function tokens(speed: Speed | undefined): string {
  return speed ? `${speed.median.toFixed(1)} ${plusMinus(speed.spread)}` : '';
}

function peerTokens(cell: MeasuredServing | undefined): string {
  return cell?.peer ? `${tokens(cell.peer)} (${cell.peerAttention})` : '';
}

function ratio(speed: Speed | undefined): string {
  return speed ? `${speed.median.toFixed(2)} ${plusMinus(speed.spread)}` : '';
}
