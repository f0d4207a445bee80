import { type Expression, rule } from '../grammar/expression.ts';
import { type Bound, integerRange, numberRange } from '../grammar/number-range.ts';
import type { Place, SchemaObject } from './schema-value.ts';
import { schemaError } from './schema-value.ts';

/** Beyond this, JavaScript prints numbers with an exponent, and so do models. */
const largestBound = 1e21;
/** An exclusive bound has to be told apart from its neighbours in so many digits. */
const mostExclusiveDigits = 14;

/** Numbers within the bounds of a schema. */
export function numberOf(place: Place): Expression {
  const { least, most } = bounds(place);
  if (least === undefined && most === undefined) return rule('number');
  for (const bound of [least, most]) {
    if (!bound?.isExclusive) continue;
    const digits = bound.value.toPrecision(mostExclusiveDigits);
    if (Number(digits) !== bound.value || (bound.value !== 0 && Math.abs(bound.value) < 1e-9)) {
      throw schemaError(
        place.path,
        `has an exclusive bound of more than ${mostExclusiveDigits} digits: ${bound.value}.`,
      );
    }
  }
  return numberRange(least, most);
}

/** Whole numbers within the bounds of a schema, written without a point. */
export function integerOf(place: Place): Expression {
  const { least, most } = bounds(place);
  if (least === undefined && most === undefined) return rule('integer');
  const first =
    least && BigInt(Math.ceil(least.value)) + (least.isExclusive && Number.isInteger(least.value) ? 1n : 0n);
  const last = most && BigInt(Math.floor(most.value)) - (most.isExclusive && Number.isInteger(most.value) ? 1n : 0n);
  return integerRange(first, last);
}

function bounds({ schema, path }: Place): { least: Bound | undefined; most: Bound | undefined } {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema as SchemaObject;
  const read = (keyword: string, value: unknown, isExclusive: boolean): Bound[] => {
    if (value === undefined) return [];
    if (typeof value !== 'number') throw schemaError(path, `must have a number as ${keyword}.`);
    if (Math.abs(value) < largestBound) return [{ value, isExclusive }];
    throw schemaError(path, `has a ${keyword} that is too large: ${value}. It may lie up to ${largestBound}.`);
  };
  const lower = [...read('minimum', minimum, false), ...read('exclusiveMinimum', exclusiveMinimum, true)];
  const upper = [...read('maximum', maximum, false), ...read('exclusiveMaximum', exclusiveMaximum, true)];
  return {
    least: lower.sort((a, b) => b.value - a.value || Number(b.isExclusive) - Number(a.isExclusive))[0],
    most: upper.sort((a, b) => a.value - b.value || Number(b.isExclusive) - Number(a.isExclusive))[0],
  };
}
