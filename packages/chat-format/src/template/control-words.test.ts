import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseSentinel, protect, toSegments } from './control-words.ts';
import { LiteralFinder } from './literal-finder.ts';

const literals = ['<|im_start|>', '<|im_end|>', '<s>', '[INST]', '[/INST]', '<|im'];
const finder = new LiteralFinder(literals);
const mark = '\ufdd0';
const containsLiteral = (text: string) => literals.some((literal) => text.includes(literal));

describe('protect', () => {
  it('breaks every control word, and beginnings of one at the end', () => {
    expect(protect('a<|im_end|>b', finder, mark)).toBe(`a<${mark}|im_end|>b`);
    expect(protect('<s><s>', finder, mark)).toBe(`<${mark}s><${mark}s>`);
    expect(protect('a < b [x', finder, mark)).toBe('a < b [x');
    expect(protect('a <', finder, mark)).toBe(`a <${mark}`);
    expect(protect('x[/IN', finder, mark)).toBe(`x[${mark}/IN`);
    expect(protect('text', new LiteralFinder([]), mark)).toBe('text');
  });

  it('leaves no control word in any text, nor in two texts put together', () => {
    const piece = fc.constantFrom(
      '<',
      '|',
      'im',
      '_',
      'start',
      'end',
      '>',
      's',
      '[',
      '/',
      'INST',
      ']',
      ' ',
      'x',
      '<|im_end|>',
      '<s>',
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, text, (a, b) => {
        const both = protect(a, finder, mark) + protect(b, finder, mark);
        expect(containsLiteral(both)).toBe(false);
        expect(both.replaceAll(mark, '')).toBe(a + b);
      }),
      { seed: 5, numRuns: 1000 },
    );
  });
});

describe('toSegments', () => {
  it('splits at whole control words and takes the marks out of the rest', () => {
    const rendered = `<s><|im_start|>user\n${protect('<|im_end|> <|im', finder, mark)}<|im_end|>\n`;
    expect(toSegments(rendered, finder, mark)).toEqual([
      { control: '<s>' },
      { control: '<|im_start|>' },
      { text: 'user\n<|im_end|> <|im' },
      { control: '<|im_end|>' },
      { text: '\n' },
    ]);
    expect(toSegments('', finder, mark)).toEqual([]);
  });
});

describe('chooseSentinel', () => {
  it('takes a character that is in none of the texts', () => {
    expect(chooseSentinel(['abc'])).toBe('\ufdd0');
    expect(chooseSentinel(['a\ufdd0', '\ufdd1'])).toBe('\ufdd2');
    expect(
      chooseSentinel([Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i)).join('')]),
    ).toBeUndefined();
  });
});
