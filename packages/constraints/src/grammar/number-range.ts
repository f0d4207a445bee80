import { between, choice, type Expression, empty, nothing, optional, repeat, sequence, text } from './expression.ts';
import { digit, fraction, mostIntegerDigits } from './json-text.ts';

/** A bound of a range. */
export interface Bound {
  readonly value: number;
  /** Whether the value itself lies outside. */
  readonly isExclusive: boolean;
}

/** A bound that is not negative, in decimal digits as JavaScript prints the number. */
interface DecimalBound {
  readonly whole: bigint;
  /** Without zeros at the end. */
  readonly fraction: string;
  readonly isExclusive: boolean;
}

/** So many digits can be told apart by numbers of double precision. */
const exactDigits = 15;
const largestWhole = 10n ** BigInt(mostIntegerDigits) - 1n;

/** Whole numbers from `least` to `most`; an absent bound is none. */
export function integerRange(least: bigint | undefined, most: bigint | undefined): Expression {
  const options: Expression[] = [];
  if (least === undefined || least < 0n) {
    const smallest = most === undefined || most >= 0n ? 1n : -most;
    const largest = least === undefined ? largestWhole : -least;
    options.push(sequence(text('-'), wholeBetween(smallest, largest)));
  }
  if (most === undefined || most >= 0n) {
    options.push(wholeBetween(least === undefined || least < 0n ? 0n : least, most ?? largestWhole));
  }
  return choice(...options);
}

/**
 * Numbers from `least` to `most`, written without an exponent. Text is compared by its digits. Rounding to double precision
 * keeps the order, but may end on a bound, so with an exclusive bound there are no more digits than a double holds.
 */
export function numberRange(least: Bound | undefined, most: Bound | undefined): Expression {
  const isExclusive = least?.isExclusive || most?.isExclusive;
  const wholeDigits = Math.max(...[least, most].map((bound) => (bound ? wholeLength(bound.value) : 1)));
  const mostFractionDigits = isExclusive ? Math.max(1, exactDigits - wholeDigits) : undefined;
  const options: Expression[] = [];
  if (least === undefined || least.value < 0) {
    const smallest = most !== undefined && most.value < 0 ? decimal(most) : undefined;
    const largest = least === undefined ? undefined : decimal(least);
    // -0 is the number 0, which this side leaves to the other.
    options.push(sequence(text('-'), decimalBetween(smallest ?? zero(true), largest, mostFractionDigits)));
  }
  if (most === undefined || most.value >= 0) {
    const smallest = least !== undefined && least.value >= 0 ? decimal(least) : undefined;
    const largest = most === undefined ? undefined : decimal(most);
    options.push(decimalBetween(smallest ?? zero(false), largest, mostFractionDigits));
  }
  return choice(...options);
}

function decimalBetween(
  least: DecimalBound,
  most: DecimalBound | undefined,
  mostFractionDigits: number | undefined,
): Expression {
  const anyFraction = optional(fraction(mostFractionDigits));
  const digits = mostFractionDigits ?? 24;
  if (most !== undefined && most.whole < least.whole) return nothing;
  if (most !== undefined && most.whole === least.whole) {
    return sequence(text(String(least.whole)), fractionBetween(least, most, digits));
  }
  const inside = wholeBetween(least.whole + 1n, (most?.whole ?? largestWhole + 1n) - 1n);
  return choice(
    sequence(text(String(least.whole)), fractionBetween(least, undefined, digits)),
    sequence(inside, anyFraction),
    most === undefined ? nothing : sequence(text(String(most.whole)), fractionBetween(undefined, most, digits)),
  );
}

/** A point with digits, or nothing, that lies within both bounds; their whole parts do not count. */
function fractionBetween(
  least: DecimalBound | undefined,
  most: DecimalBound | undefined,
  mostDigits: number,
): Expression {
  const low = least ?? { fraction: '', isExclusive: false };
  const isNoneLow = low.fraction === '' && !low.isExclusive;
  const isNoneHigh = most === undefined || most.fraction !== '' || !most.isExclusive;
  const digits = digitsBetween(low.fraction, low.isExclusive, most, mostDigits, false);
  const withPoint = sequence(text('.'), digits);
  return choice(isNoneLow && isNoneHigh ? empty : nothing, withPoint);
}

/**
 * The digits that are left behind a point. `low` is what is left of the lower bound, or undefined when they are above it
 * already; `high` the same of the upper bound. `mayEnd` is false right behind the point, where a digit has to come.
 */
function digitsBetween(
  low: string | undefined,
  isLowExclusive: boolean,
  high: Pick<DecimalBound, 'fraction' | 'isExclusive'> | undefined,
  room: number,
  mayEnd: boolean,
): Expression {
  // Above or on the lower bound, whatever follows.
  if (low === '' && !isLowExclusive) low = undefined;
  if (low === undefined && high === undefined) return repeat(digit, mayEnd ? 0 : 1, Math.max(room, mayEnd ? 0 : 1));
  const isEndLow = low === undefined;
  const isEndHigh = high === undefined || high.fraction !== '' || !high.isExclusive;
  const options: Expression[] = [mayEnd && isEndLow && isEndHigh ? empty : nothing];
  if (room > 0) {
    const lowDigit = low === undefined ? -1 : Number(low[0] ?? '0');
    const highDigit = high === undefined ? 10 : Number(high.fraction[0] ?? '0');
    for (const value of new Set([lowDigit, highDigit])) {
      if (value < 0 || value > 9 || value < lowDigit || value > highDigit) continue;
      const lowRest = value === lowDigit ? low!.slice(1) : undefined;
      const highRest = value === highDigit ? { ...high!, fraction: high!.fraction.slice(1) } : undefined;
      options.push(sequence(text(String(value)), digitsBetween(lowRest, isLowExclusive, highRest, room - 1, true)));
    }
    if (highDigit - lowDigit > 1) {
      options.push(sequence(digitFrom(lowDigit + 1, highDigit - 1), repeat(digit, 0, room - 1)));
    }
  }
  return choice(...options);
}

/** Whole numbers without a sign from `least` to `most`. */
function wholeBetween(least: bigint, most: bigint): Expression {
  const options: Expression[] = [];
  for (let length = String(least).length; length <= String(most).length && least <= most; length++) {
    const smallest = length === 1 ? 0n : 10n ** BigInt(length - 1);
    const largest = 10n ** BigInt(length) - 1n;
    options.push(sameLength(String(least > smallest ? least : smallest), String(most < largest ? most : largest)));
  }
  return choice(...options);
}

/** Digits between two numbers of as many digits. */
function sameLength(least: string, most: string): Expression {
  const rest = least.length - 1;
  if (rest < 0) return empty;
  if (/^0*$/.test(least) && /^9*$/.test(most)) return repeat(digit, least.length, least.length);
  const [first, last] = [Number(least[0]), Number(most[0])];
  if (first === last) return sequence(text(least[0]!), sameLength(least.slice(1), most.slice(1)));
  return choice(
    sequence(text(least[0]!), sameLength(least.slice(1), '9'.repeat(rest))),
    last - first > 1 ? sequence(digitFrom(first + 1, last - 1), repeat(digit, rest, rest)) : nothing,
    sequence(text(most[0]!), sameLength('0'.repeat(rest), most.slice(1))),
  );
}

const digitFrom = (first: number, last: number): Expression => between(String(first), String(last));

const zero = (isExclusive: boolean): DecimalBound => ({ whole: 0n, fraction: '', isExclusive });

/** The digits of the bound without its sign. */
function decimal({ value, isExclusive }: Bound): DecimalBound {
  const [mantissa, exponent = '0'] = String(Math.abs(value)).split('e');
  const [whole, behind = ''] = mantissa!.split('.');
  const shift = Number(exponent);
  if (shift === 0) return { whole: BigInt(whole!), fraction: behind, isExclusive };
  if (shift > 0) return { whole: BigInt(whole! + behind.padEnd(shift, '0')), fraction: '', isExclusive };
  return { whole: 0n, fraction: '0'.repeat(-shift - 1) + whole + behind, isExclusive };
}

const wholeLength = (value: number): number => String(decimal({ value, isExclusive: false }).whole).length;
