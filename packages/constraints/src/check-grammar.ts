import { ConstraintError } from './constraint-error.ts';

/** A comment, a text, or a class of characters, in EBNF. */
const parts = /#[^\n]*|"(?:\\[\s\S]|[^"\\])*"|\[(?:\\[\s\S]|[^\]\\])*\]/gu;
/** A character beyond ASCII, as it is or by its number. */
const beyondAscii = /[^\0-\x7f]|\\x[89a-f][0-9a-f]|\\u(?!00[0-7])[0-9a-f]{4}|\\U(?!000000[0-7])[0-9a-f]{8}|\\u\{/iu;

/**
 * Refuses what XGrammar 0.1.27 takes for something else: classes with characters beyond ASCII, of which some allow any
 * byte and some none. A class of everything but some ASCII characters is right.
 *
 * @throws ConstraintError that says where such a class stands
 */
export function checkGrammar(grammar: string): void {
  for (const { 0: part, index } of grammar.matchAll(parts)) {
    if (!part.startsWith('[') || !beyondAscii.test(part)) continue;
    const lines = grammar.slice(0, index).split('\n');
    const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
    throw new ConstraintError(
      `The grammar has a class with characters beyond ASCII at ${place}, which is not supported. List them as texts: ("é" | "ü").`,
      { details: { line: lines.length, column: lines.at(-1)!.length + 1 } },
    );
  }
}
