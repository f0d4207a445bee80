import { type FormatName, formatNames } from '../synthetic/formats.ts';
import { type ShapeName, shapeNames } from '../synthetic/shapes.ts';
import { aimedCells, type Cell, type Phase } from './aims.ts';

/** Lists separated by commas, as they are typed. */
export interface Selection {
  readonly shapes?: string | undefined;
  readonly formats?: string | undefined;
  /** `prefill:500,decode:0`, or `aims` (those with an aim, the default), or `all` (the six of the table of figures). */
  readonly cells?: string | undefined;
}

const allCells: readonly (readonly [Phase, number])[] = [
  ...[50, 500, 1500].map((context) => ['prefill', context] as const),
  ...[0, 500, 1500].map((context) => ['decode', context] as const),
];

/** Largest context of a cell: the 1.1B Llama has 2,048 positions, and tokens are made behind the context. */
const maxContext = 1900;

/**
 * The cells asked for, those of one model together.
 * @throws Error that says what there is
 */
export function selectCells({ shapes, formats, cells = 'aims' }: Selection): readonly Cell[] {
  const wantedShapes = namesOf(shapes, shapeNames, 'shape');
  const wantedFormats = namesOf(formats, formatNames, 'format');
  if (cells === 'aims') {
    const found = aimedCells.filter(({ shape, format }) => wantedShapes.has(shape) && wantedFormats.has(format));
    if (found.length > 0) return found;
    throw new Error('No cell of these shapes and formats has an aim: name cells, --cells prefill:500,decode:0 or all.');
  }
  const places = cells === 'all' ? allCells : cells.split(',').map(parsePlace);
  // Without names the models of the aims, not all 24 that can be written.
  const isAimed = (shape: ShapeName, format: FormatName) =>
    aimedCells.some((cell) => cell.shape === shape && cell.format === format);
  return [...wantedShapes].flatMap((shape) =>
    [...wantedFormats]
      .filter((format) => (shapes !== undefined && formats !== undefined) || isAimed(shape, format))
      .flatMap((format) => places.map(([phase, context]) => ({ shape, format, phase, context }))),
  );
}

function parsePlace(text: string): readonly [Phase, number] {
  const [, phase, digits] = /^(prefill|decode):(\d+)$/.exec(text) ?? [];
  const context = Number(digits);
  if (phase === undefined || context > maxContext || (phase === 'prefill' && context < 1)) {
    throw new Error(`A cell is prefill:N or decode:N with N up to ${maxContext}, got ${text}.`);
  }
  return [phase as Phase, context];
}

function namesOf<Name extends string>(list: string | undefined, all: readonly Name[], what: string): Set<Name> {
  if (list === undefined) return new Set(all);
  const names = list.split(',');
  const unknown = names.find((name) => !(all as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Error(`There is no ${what} ${unknown}; there are ${all.join(', ')}.`);
  return new Set(names as Name[]);
}
