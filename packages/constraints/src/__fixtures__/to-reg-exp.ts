import type { Expression } from '../grammar/expression.ts';

/** An expression without rules as a regular expression for whole texts: another engine that reads the same. */
export function toRegExp(expression: Expression): RegExp {
  return new RegExp(`^${print(expression)}$`, 'u');
}

function print(expression: Expression): string {
  switch (expression.kind) {
    case 'text':
      return Array.from(expression.text, (letter) => codePoint(letter.codePointAt(0)!)).join('');
    case 'characters': {
      const others = expression.andOthers ? '\\u{80}-\\u{10ffff}' : '';
      return `[${expression.ranges.map(([first, last]) => `${codePoint(first)}-${codePoint(last)}`).join('')}${others}]`;
    }
    case 'sequence':
      return expression.parts.map((part) => `(?:${print(part)})`).join('');
    case 'choice':
      // Without an option, nothing fits.
      return expression.options.length === 0 ? '[]' : `(?:${expression.options.map(print).join('|')})`;
    case 'repeat':
      return `(?:${print(expression.part)}){${expression.least},${expression.most ?? ''}}`;
    case 'rule':
      throw new Error(`The rule ${expression.name} cannot be written here.`);
  }
}

const codePoint = (value: number): string => `\\u{${value.toString(16)}}`;
