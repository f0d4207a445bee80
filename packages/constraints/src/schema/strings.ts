import {
  anyOf,
  between,
  choice,
  type Expression,
  optional,
  repeat,
  rule,
  sequence,
  text,
} from '../grammar/expression.ts';
import { anyNumberOf, character, digit, plainCharacter, quoted } from '../grammar/json-text.ts';
import { count, type Place, type SchemaObject, schemaError } from './schema-value.ts';

/**
 * Up to this count, characters are counted where they stand, which makes masks five times as fast. A little beyond it,
 * XGrammar does not compile that in 20 seconds, so there each is a rule of its own.
 */
const mostCountedInPlace = 100;

/** Strings of a schema, by length (in code points) or by format. */
export function stringOf({ schema, path }: Place): Expression {
  const { format } = schema as SchemaObject;
  const least = count(schema as SchemaObject, 'minLength', path);
  const most = count(schema as SchemaObject, 'maxLength', path);
  if (format === undefined) {
    if (least === undefined && most === undefined) return rule('string');
    if (most !== undefined && most < (least ?? 0)) return choice();
    const counted = (most ?? least!) <= mostCountedInPlace ? character : rule('character');
    const first = repeat(counted, least ?? 0, most ?? least);
    return quoted(most === undefined ? sequence(first, anyNumberOf(plainCharacter, rule('escape'))) : first);
  }
  const known = typeof format === 'string' ? formats.get(format) : undefined;
  if (known === undefined) {
    const names = [...formats.keys()].join(', ');
    throw schemaError(path, `has the format ${JSON.stringify(format)}, which is not supported. Known are ${names}.`);
  }
  if (least !== undefined || most !== undefined) {
    throw schemaError(path, 'has a length beside format, which is not supported. Leave it out.');
  }
  return quoted(known);
}

const twoDigits = (...options: [string, Expression][]): Expression =>
  choice(...options.map(([first, second]) => sequence(text(first), second)));
const dash = text('-');

// Years of four digits that are divisible by 4, but by 100 only if by 400 too.
const fourthYear = choice(
  twoDigits(['0', anyOf('48')]),
  sequence(anyOf('2468'), anyOf('048')),
  sequence(anyOf('13579'), anyOf('26')),
);
const leapYear = choice(
  sequence(repeat(digit, 2, 2), fourthYear),
  sequence(choice(text('00'), fourthYear), text('00')),
);
const dayUpTo28 = twoDigits(['0', between('1', '9')], ['1', digit], ['2', between('0', '8')]);
const longMonth = choice(twoDigits(['0', anyOf('13578')], ['1', anyOf('02')]));
const anyMonthButFebruary = choice(sequence(text('0'), anyOf('13456789')), sequence(text('1'), anyOf('012')));
const day = choice(
  sequence(choice(text('02'), anyMonthButFebruary), dash, dayUpTo28),
  sequence(anyMonthButFebruary, dash, choice(text('29'), text('30'))),
  sequence(longMonth, dash, text('31')),
);
const date = choice(sequence(repeat(digit, 4, 4), dash, day), sequence(leapYear, text('-02-29')));

const hour = twoDigits(['0', digit], ['1', digit], ['2', between('0', '3')]);
const sixty = sequence(between('0', '5'), digit);
const zone = choice(text('Z'), sequence(anyOf('+-'), hour, text(':'), sixty));
const time = sequence(
  hour,
  text(':'),
  sixty,
  text(':'),
  sixty,
  optional(sequence(text('.'), repeat(digit, 1, 9))),
  zone,
);

const hex = choice(digit, between('a', 'f'), between('A', 'F'));
const uuid = sequence(repeat(hex, 8, 8), ...[4, 4, 4, 12].map((length) => sequence(dash, repeat(hex, length, length))));

const byte = choice(
  digit,
  sequence(between('1', '9'), digit),
  sequence(text('1'), digit, digit),
  sequence(text('2'), between('0', '4'), digit),
  sequence(text('25'), between('0', '5')),
);
const ipv4 = sequence(byte, repeat(sequence(text('.'), byte), 3, 3));

const letterOrDigit = choice(digit, between('a', 'z'), between('A', 'Z'));
const label = sequence(letterOrDigit, repeat(sequence(optional(dash), letterOrDigit), 0, 30));
const email = sequence(
  letterOrDigit,
  repeat(sequence(optional(anyOf('._+-')), letterOrDigit), 0, 31),
  text('@'),
  repeat(sequence(label, text('.')), 1, 4),
  repeat(choice(between('a', 'z'), between('A', 'Z')), 2, 12),
);

/** By name: what is between the quotes. Dates are real days; leap seconds are not made. */
const formats: ReadonlyMap<string, Expression> = new Map([
  ['date', date],
  ['time', time],
  ['date-time', sequence(date, text('T'), time)],
  ['uuid', uuid],
  ['ipv4', ipv4],
  ['email', email],
]);
