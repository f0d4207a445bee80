import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { parseTemplate } from './parse-template.ts';

function syntaxErrorOf(source: string): InvalidModelError {
  try {
    parseTemplate(source, 'chat_template.jinja');
  } catch (error) {
    if (error instanceof InvalidModelError) return error;
    throw error;
  }
  throw new Error('expected a syntax error');
}

describe('a syntax error', () => {
  it.each<[line: number, reason: RegExp, source: string]>([
    // B31: the closing brace is missing.
    [1, /Unexpected|Expected|ends/, '{% for m in messages %}{{ m.content }'],
    [3, /Expected/, 'a\nb\n{{ x y }}\nc'],
    [2, /Unknown statement type: nonsense/, '{{ a }}\n{% nonsense %}\n'],
    [4, /Unexpected character: \?/, '{# a\n {{ b #}\n\n{{ c ? d }}\n{{ e }}'],
    [2, /the block "for" that begins here is not closed/, 'x\n{% for m in n %}\n{% if a %}{% endif %}\n{{ m }}\n'],
    [
      3,
      /the block "if" that begins here is not closed/,
      '{% for m in n %}\n{{ m }}\n{% if m %}\n{% set x %}\n{% endset %}\n',
    ],
    [
      5,
      /Unknown statement type: endfor|Expected/,
      '{% if a %}\n{% generation %}\n{% endgeneration %}\n{% endif %}\n{% endfor %}\n',
    ],
    [2, /./, "a\n{{ 'not closed }}\n"],
  ])('in line %i: %s', (line, reason, source) => {
    const error = syntaxErrorOf(source);
    expect(error.details).toEqual({ origin: 'chat_template.jinja', line });
    expect(error.message).toContain(`(chat_template.jinja) has a syntax error in line ${line}: `);
    expect(error.message).toMatch(reason);
  });

  it('of nesting too deep is one too', () => {
    expect(syntaxErrorOf(`{{ ${'('.repeat(100_000)}`).message).toContain('in line 1');
  });
});

describe('the tag of Transformers', () => {
  it('{% generation %} is left out', () => {
    expect(() => parseTemplate('a{% generation %}b{% endgeneration %}c', 'x')).not.toThrow();
  });
});
