import {
  anyOf,
  between,
  type CharacterRange,
  charactersAndOthers,
  choice,
  type Expression,
  optional,
  type Rules,
  repeat,
  rule,
  sequence,
  text,
} from './expression.ts';

/**
 * Longest indentation after a line break. A model may lay out its JSON, but blanks have to come to an end: small models
 * print them for ever where they may.
 */
const mostIndentation = 20;
/** `JSON.stringify` writes no number with more digits before or behind the point. */
const mostDigits = 24;

/** ASCII characters that JSON text holds as they are: all but quotes, backslashes and control characters. */
export const plainCharacters: readonly CharacterRange[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7f],
];

/** A character of a string that is not escaped. */
export const plainCharacter = charactersAndOthers(...plainCharacters);
/** A character of a string, as it is or escaped. */
export const character = choice(plainCharacter, rule('escape'));

/**
 * Plain characters and escapes, in any order and number. The grammar engine knows ahead which tokens go on a run of plain
 * characters; with a choice in each place, it would try most of the vocabulary each time.
 */
export function anyNumberOf(plain: Expression, escaped: Expression): Expression {
  return sequence(repeat(plain, 0), repeat(sequence(escaped, repeat(plain, 0)), 0));
}

/** White space between two parts of JSON text: none, one blank, or a line break with its indentation. */
export const space = rule('space');
export const digit = between('0', '9');
/** A point and digits. */
export const fraction = (mostFractionDigits = mostDigits): Expression =>
  sequence(text('.'), repeat(digit, 1, mostFractionDigits));
/** The most digits of a whole number that is not bounded by its schema. */
export const mostIntegerDigits = 21;

/** A value that fits between quotes. */
export const quoted = (content: Expression): Expression => sequence(text('"'), content, text('"'));
/** `open`, then either nothing or `content`, then `close`, with white space where it is usual. */
export const enclosed = (open: string, content: Expression, close: string): Expression =>
  sequence(text(open), space, content, space, text(close));
export const comma = sequence(text(','), space);
export const colon = sequence(text(':'), space);

const hexDigit = choice(digit, between('a', 'f'), between('A', 'F'));
const highSurrogate = sequence(anyOf('dD'), choice(anyOf('89abAB')), repeat(hexDigit, 2, 2));
const lowSurrogate = sequence(anyOf('dD'), choice(anyOf('cdefCDEF')), repeat(hexDigit, 2, 2));
const notSurrogate = choice(
  sequence(choice(digit, anyOf('abcefABCEF')), repeat(hexDigit, 3, 3)),
  sequence(anyOf('dD'), between('0', '7'), repeat(hexDigit, 2, 2)),
);

const wholeNumber = choice(text('0'), sequence(between('1', '9'), repeat(digit, 0, mostIntegerDigits - 1)));
/** Up to 307, so that no number is larger than the largest of double precision. */
const exponent = choice(
  repeat(digit, 1, 2),
  sequence(anyOf('12'), digit, digit),
  sequence(text('30'), between('0', '7')),
);
const negativeExponent = choice(repeat(digit, 1, 2), sequence(anyOf('123'), digit, digit));

/** The rules of JSON values without a schema, each of which can be used by name. */
export const jsonRules: Rules = new Map([
  ['space', choice(text(''), text(' '), sequence(text('\n'), repeat(anyOf(' \t'), 0, mostIndentation)))],
  [
    'escape',
    choice(
      sequence(text('\\'), anyOf('"\\/bfnrt')),
      sequence(text('\\u'), choice(notSurrogate, sequence(highSurrogate, text('\\u'), lowSurrogate))),
    ),
  ],
  ['character', character],
  ['string', quoted(anyNumberOf(plainCharacter, rule('escape')))],
  ['integer', sequence(optional(text('-')), wholeNumber)],
  [
    'number',
    sequence(
      optional(text('-')),
      choice(
        sequence(wholeNumber, optional(fraction())),
        sequence(
          between('1', '9'),
          optional(fraction()),
          anyOf('eE'),
          choice(sequence(optional(text('+')), exponent), sequence(text('-'), negativeExponent)),
        ),
      ),
    ),
  ],
  ['boolean', choice(text('true'), text('false'))],
  ['null', text('null')],
  ['array', choice(sequence(text('['), space, text(']')), enclosed('[', listOf(rule('value')), ']'))],
  ['member', sequence(rule('string'), colon, rule('value'))],
  ['object', choice(sequence(text('{'), space, text('}')), enclosed('{', listOf(rule('member')), '}'))],
  ['value', choice(rule('object'), rule('array'), rule('string'), rule('number'), rule('boolean'), rule('null'))],
]);

/** One or more, with commas between. */
function listOf(part: Expression): Expression {
  return sequence(part, repeat(sequence(comma, part), 0));
}
