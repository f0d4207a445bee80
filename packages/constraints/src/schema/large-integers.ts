import { schemaError } from './schema-value.ts';

/** Bounds: towards which side a large integer may be rounded, so that nothing more is allowed than before. */
const inward: Readonly<Record<string, 'down' | 'up'>> = {
  minimum: 'up',
  exclusiveMinimum: 'up',
  maximum: 'down',
  exclusiveMaximum: 'down',
};

const mapsOfSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

/**
 * A schema whose integers above 2^53, which came as bigints, are numbers. Bounds are rounded so that they allow no more than
 * they did; what only describes (defaults, examples) is rounded to the nearest.
 *
 * @throws ConstraintError for such an integer as `const` or in an `enum`, where another one would be another value
 */
export function withoutLargeIntegers(schema: unknown, path = '#'): unknown {
  return convert(schema, path, undefined);
}

function convert(value: unknown, path: string, keyword: string | undefined): unknown {
  if (typeof value === 'bigint') {
    if (isGiven(keyword)) {
      throw schemaError(
        path,
        `has the integer ${value}, which has too many digits for a value that is given. Make it a string.`,
      );
    }
    return rounded(value, inward[keyword ?? '']);
  }
  if (Array.isArray(value)) return value.map((item, index) => convert(item, `${path}/${index}`, keyword));
  if (typeof value !== 'object' || value === null) return value;
  // What is given holds no keywords, and the names in a map of schemas are none.
  const keywordInside = (name: string) => {
    if (isGiven(keyword)) return keyword;
    return mapsOfSchemas.has(keyword ?? '') ? undefined : name;
  };
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, convert(member, `${path}/${name}`, keywordInside(name))]),
  );
}

function isGiven(keyword: string | undefined): boolean {
  return keyword === 'const' || keyword === 'enum';
}

/** The nearest double, or the nearest on one side. */
function rounded(value: bigint, side: 'down' | 'up' | undefined): number {
  const nearest = Number(value);
  if (!Number.isFinite(nearest) || side === undefined) return nearest;
  const difference = BigInt(nearest) - value;
  if (side === 'down' && difference > 0n) return neighbour(nearest, -1n);
  if (side === 'up' && difference < 0n) return neighbour(nearest, 1n);
  return nearest;
}

/** The next double towards minus or plus infinity, of one that is not zero. */
function neighbour(value: number, direction: -1n | 1n): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? direction : -direction));
  return view.getFloat64(0);
}
