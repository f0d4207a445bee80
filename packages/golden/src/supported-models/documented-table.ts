import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { FormatSample } from './formats.ts';
import type { CellOutcome } from './prove-cell.ts';

/** The page whose tables the tests keep true. */
const page = fileURLToPath(new URL('../../../../docs/supported-models.md', import.meta.url));

/** What the page says of one family. */
export interface DocumentedFamily {
  /** One row of each container's table: the label, then `yes` or `no` per format. */
  readonly rows: readonly string[];
  /** `- Family, format: why not`, one line per `no`. */
  readonly refusals: readonly string[];
}

/** What it should say. */
export function describeFamily(
  label: string,
  cells: readonly { format: FormatSample; outcome: CellOutcome }[],
): DocumentedFamily {
  const rows = (['safetensors', 'GGUF'] as const).map((container) => {
    const inTable = cells.filter(({ format }) => format.container === container);
    return `| ${[label, ...inTable.map(({ outcome }) => (outcome.kind === 'proven' ? 'yes' : 'no'))].join(' | ')} |`;
  });
  const refusals = cells.flatMap(({ format, outcome }) =>
    outcome.kind === 'refused' ? [`- ${label}, ${format.container} ${format.label}: ${outcome.message}`] : [],
  );
  return { rows, refusals };
}

/** What it does say. */
export async function readFamily(label: string): Promise<DocumentedFamily> {
  const lines = (await readFile(page, 'utf8')).split('\n');
  return {
    rows: lines.filter((line) => line.startsWith(`| ${label} |`)),
    refusals: lines.filter((line) => line.startsWith(`- ${label}, `)),
  };
}

/** Makes it say so: for `UPDATE_DOCS=1`, one test file at a time. */
export async function writeFamily(label: string, { rows, refusals }: DocumentedFamily): Promise<void> {
  const lines = (await readFile(page, 'utf8')).split('\n').filter((line) => !line.startsWith(`- ${label}, `));
  const places = lines.flatMap((line, index) => (line.startsWith(`| ${label} |`) ? [index] : []));
  if (places.length !== rows.length)
    throw new Error(`${page} has ${places.length} rows of ${label}, expected ${rows.length}.`);
  for (const [i, place] of places.entries()) lines[place] = rows[i]!;
  const heading = lines.indexOf('## Why not');
  lines.splice(heading + 2, 0, ...refusals);
  await writeFile(page, lines.join('\n'));
}
