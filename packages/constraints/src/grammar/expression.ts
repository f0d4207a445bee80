/**
 * A grammar as values: what schemas and lists of texts are translated into, before it is printed as EBNF. Characters are
 * code points.
 */
export type Expression =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'characters';
      /** ASCII only. */
      readonly ranges: readonly CharacterRange[];
      /** Whether every character beyond ASCII belongs to them. */
      readonly andOthers: boolean;
    }
  | { readonly kind: 'rule'; readonly name: string }
  | { readonly kind: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly kind: 'choice'; readonly options: readonly Expression[] }
  | {
      readonly kind: 'repeat';
      readonly part: Expression;
      readonly least: number;
      /** `undefined`: as often as one likes. */
      readonly most: number | undefined;
    };

/** First and last code point, both below 128: XGrammar takes classes with other characters for something else. */
export type CharacterRange = readonly [number, number];

/** Rules by name. */
export type Rules = Map<string, Expression>;

export const text = (value: string): Expression => ({ kind: 'text', text: value });
export const characters = (...ranges: CharacterRange[]): Expression => ({
  kind: 'characters',
  ranges,
  andOthers: false,
});
/** These and every character beyond ASCII. */
export const charactersAndOthers = (...ranges: CharacterRange[]): Expression => ({
  kind: 'characters',
  ranges,
  andOthers: true,
});
export const rule = (name: string): Expression => ({ kind: 'rule', name });
export const sequence = (...parts: Expression[]): Expression => ({ kind: 'sequence', parts });
export const choice = (...options: Expression[]): Expression => ({ kind: 'choice', options });
export const repeat = (part: Expression, least: number, most?: number): Expression => ({
  kind: 'repeat',
  part,
  least,
  most,
});
export const optional = (part: Expression): Expression => repeat(part, 0, 1);

/** The empty text, and nothing else. */
export const empty = text('');
/** No text at all, not even the empty one. */
export const nothing = choice();

/** One of these ASCII characters. */
export const anyOf = (letters: string): Expression =>
  characters(...Array.from(letters, (letter): CharacterRange => [letter.charCodeAt(0), letter.charCodeAt(0)]));
/** A character between two ASCII characters. */
export const between = (first: string, last: string): Expression =>
  characters([first.charCodeAt(0), last.charCodeAt(0)]);
