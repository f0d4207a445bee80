import type { CharacterRange, Expression, Rules } from './expression.ts';

/** The rules in the EBNF of XGrammar. The one called `root` is where texts begin. */
export function printEbnf(rules: Rules): string {
  return Array.from(rules, ([name, expression]) => `${name} ::= ${print(expression)}\n`).join('');
}

function print(expression: Expression): string {
  switch (expression.kind) {
    case 'text':
      return `"${Array.from(expression.text, (letter) => escapeCharacter(letter.codePointAt(0)!)).join('')}"`;
    case 'characters':
      return expression.andOthers
        ? `[^${complement(expression.ranges).map(printRange).join('')}]`
        : `[${expression.ranges.map(printRange).join('')}]`;
    case 'rule':
      return expression.name;
    case 'sequence':
      return expression.parts.length === 0 ? '""' : `(${expression.parts.map(print).join(' ')})`;
    case 'choice':
      return `(${expression.options.map(print).join(' | ')})`;
    case 'repeat':
      return `(${print(expression.part)})${printCount(expression.least, expression.most)}`;
  }
}

function printCount(least: number, most: number | undefined): string {
  if (most === undefined) return least === 0 ? '*' : least === 1 ? '+' : `{${least},}`;
  return least === 0 && most === 1 ? '?' : `{${least},${most}}`;
}

/** The ASCII characters outside of ranges that are in order. */
function complement(ranges: readonly CharacterRange[]): CharacterRange[] {
  const firsts = [0, ...ranges.map(([, last]) => last + 1)];
  const lasts = [...ranges.map(([first]) => first - 1), 0x7f];
  return firsts.map((first, index): CharacterRange => [first, lasts[index]!]).filter(([first, last]) => first <= last);
}

function printRange([first, last]: CharacterRange): string {
  return first === last ? escapeCharacter(first) : `${escapeCharacter(first)}-${escapeCharacter(last)}`;
}

/** Letters and digits stand for themselves; everything else is written by number, so that nothing has a second meaning. */
function escapeCharacter(codePoint: number): string {
  const letter = String.fromCodePoint(codePoint);
  if (/[A-Za-z0-9]/.test(letter)) return letter;
  return codePoint > 0xffff
    ? `\\U${codePoint.toString(16).padStart(8, '0')}`
    : `\\u${codePoint.toString(16).padStart(4, '0')}`;
}
