import { placeOf } from './markdown.ts';
import { type MeasuredCell, type Results, verdictOf } from './results.ts';

const width = 760;
const labelWidth = 250;
const valueWidth = 60;
const rowHeight = 22;
const barHeight = 12;
const top = 52;

/** Readable on white and on black: the page that shows the image says which it is. */
const style = `
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .title { font-weight: 600; }
  .faint { fill: #57606a; }
  .grid { stroke: #d0d7de; }
  .peer { stroke: #57606a; }
  .aim { fill: #1a7f37; } .done { fill: #0969da; } .below { fill: #bc4c00; } .none { fill: #8c959f; }
  .line { stroke: #24292f; stroke-width: 2; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .faint { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .peer { stroke: #9198a1; }
    .aim { fill: #3fb950; } .done { fill: #4493f8; } .below { fill: #f0883e; } .none { fill: #656c76; }
    .line { stroke: #e6edf3; }
  }`;

/** Bars of ratios, each with the lines of its aim (whole) and its least (dashed), as an SVG image. */
export function plot({ cells, peer, machine, commit }: Results): string {
  const most = Math.ceil(Math.max(1.5, ...cells.map(({ ratio, aim = 0 }) => Math.max(ratio, aim))) + 0.01);
  const x = (ratio: number) => labelWidth + (ratio / most) * (width - labelWidth - valueWidth);
  const bottom = top + cells.length * rowHeight;
  const height = bottom + 40;
  const title = 'Tokens per second, as a multiple of the peer';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(`${title}: Hearth beside ${peer}`)}</title>`,
    `<style>${style}\n</style>`,
    text(8, 18, title, 'title'),
    text(8, 36, `Hearth at ${commit} beside ${peer} on ${machine}`, 'faint'),
    ...Array.from({ length: most + 1 }, (_, tick) => [
      vertical(x(tick), top, bottom, tick === 1 ? 'peer' : 'grid'),
      text(x(tick), bottom + 16, tick === 1 ? 'peer' : `${tick}×`, 'faint', 'middle'),
    ]).flat(),
    ...cells.flatMap((cell, row) => bar(cell, top + row * rowHeight, x)),
    text(8, bottom + 34, 'Whole line: aim. Dashed line: the least that counts as done.', 'faint'),
    '</svg>',
    '',
  ].join('\n');
}

function bar(cell: MeasuredCell, y: number, x: (ratio: number) => number): string[] {
  const { shape, format, ratio, aim, least } = cell;
  const barTop = y + (rowHeight - barHeight) / 2;
  const lines = [
    text(8, y + 15, `${shape} ${format}, ${placeOf(cell)}`),
    `<rect class="${verdictOf(cell) ?? 'none'}" x="${px(x(0))}" y="${barTop}" width="${px(x(ratio) - x(0))}" height="${barHeight}"/>`,
    text(Math.max(x(ratio), x(aim ?? 0)) + 6, y + 15, ratio.toFixed(2)),
  ];
  if (aim !== undefined) lines.push(vertical(x(aim), y + 2, y + rowHeight - 2, 'line'));
  if (least !== undefined) lines.push(vertical(x(least), y + 2, y + rowHeight - 2, 'line', '3 2'));
  return lines;
}

function vertical(x: number, from: number, to: number, className: string, dashes?: string): string {
  const dashed = dashes ? ` stroke-dasharray="${dashes}"` : '';
  return `<line class="${className}" x1="${px(x)}" x2="${px(x)}" y1="${from}" y2="${to}"${dashed}/>`;
}

function text(x: number, y: number, content: string, className = '', anchor = 'start'): string {
  return `<text class="${className}" x="${px(x)}" y="${y}" text-anchor="${anchor}">${escaped(content)}</text>`;
}

function px(value: number): string {
  return value.toFixed(1);
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
