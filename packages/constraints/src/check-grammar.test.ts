import { expect, it } from 'vitest';
import { checkGrammar } from './check-grammar.ts';

it.each(['[é]', '[^aé]', '[\\u00e9]', '[a-\\U0001F600]', '[\\xe9]', '[\\\\é]', '[\\]é]', '[\\u4E00-\\u9FFF]'])(
  'a class with characters beyond ASCII is refused: %s',
  (part) => {
    const grammar = `# a comment "\nroot ::= "x" ${part}`;
    expect(() => checkGrammar(grammar)).toThrow(
      expect.objectContaining({ code: 'constraint', details: { line: 2, column: 14 } }),
    );
  },
);

it.each(['[a-z]', '[^\\u0000-\\u007f]', '"é" "[é]"', '"\\"[é"', '[\\x7f] # [é]', '[\\]"] "é"', '[\\U00000041]'])(
  'other characters are taken anywhere else: %s',
  (part) => {
    expect(() => checkGrammar(`root ::= ${part}`)).not.toThrow();
  },
);
