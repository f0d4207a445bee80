import { ConstraintError } from '../constraint-error.ts';
import {
  type CharacterRange,
  characters,
  charactersAndOthers,
  choice,
  type Expression,
  nothing,
  rule,
  sequence,
  text,
} from '../grammar/expression.ts';
import { anyNumberOf, plainCharacter, plainCharacters } from '../grammar/json-text.ts';
import type { SchemaContext } from './translate-schema.ts';

/** A node of the tree of names: the letters that go on from here. */
interface Node {
  readonly children: Map<string, Node>;
  isName: boolean;
}

/** Letters that JSON text escapes; JavaScript writes each in one way. */
const escaped = Array.from({ length: 0x20 }, (_, codePoint) => codePoint)
  .concat(0x22, 0x5c)
  .map((codePoint) => String.fromCharCode(codePoint));
/** Each letter is a rule of its own. */
const longestName = 500;
const inJson = (letter: string): string => JSON.stringify(letter).slice(1, -1);

/**
 * Keys other than the given ones, with their quotes. A value that comes twice would be taken from its second place, which
 * the schema of another property rules. Letters are written as `JSON.stringify` does, so that each has one form.
 */
export function otherKeys(names: readonly string[], context: SchemaContext): Expression {
  if (names.length === 0) return rule('string');
  const root: Node = { children: new Map(), isName: false };
  for (const name of names) {
    if (name.length > longestName) {
      throw new ConstraintError(
        `The schema has a property of ${name.length} characters beside additionalProperties; up to ${longestName} are supported.`,
        { details: { property: `${name.slice(0, 40)}…` } },
      );
    }
    let node = root;
    for (const letter of name) {
      const next = node.children.get(letter) ?? { children: new Map(), isName: false };
      node.children.set(letter, next);
      node = next;
    }
    node.isName = true;
  }
  const anyEscape = context.define('escape', choice(...escaped.map(inJson).map(text)));
  const letters = context.define('letters', anyNumberOf(plainCharacter, anyEscape));
  return sequence(text('"'), restOfKey(root, letters, context));
}

/** What may follow after the letters of `node`: the end, if they are no name, or letters that lead to none. */
function restOfKey(node: Node, letters: Expression, context: SchemaContext): Expression {
  // A path without a branch is a chain of nodes, so this goes as deep as the longest name.
  const options: Expression[] = [
    node.isName ? nothing : text('"'),
    sequence(letterOtherThan([...node.children.keys()]), letters, text('"')),
  ];
  for (const [letter, child] of node.children) {
    options.push(sequence(text(inJson(letter)), restOfKey(child, letters, context)));
  }
  return context.define('key', choice(...options));
}

function letterOtherThan(letters: readonly string[]): Expression {
  const points = letters.map((letter) => letter.codePointAt(0)!).sort((a, b) => a - b);
  const plain = without(plainCharacters, points);
  const isAscii = points.every((point) => point < 0x80);
  const escapes = escaped.filter((letter) => !letters.includes(letter));
  return choice(
    // There is no class of all characters but one beyond ASCII, so that where one leads to a name, the others are left out.
    isAscii ? charactersAndOthers(...plain) : characters(...plain),
    ...escapes.map(inJson).map(text),
  );
}

function without(ranges: readonly CharacterRange[], points: readonly number[]): CharacterRange[] {
  let left = [...ranges];
  for (const point of points) {
    left = left.flatMap(([first, last]): CharacterRange[] => {
      if (point < first || point > last) return [[first, last]];
      const parts: CharacterRange[] = [
        [first, point - 1],
        [point + 1, last],
      ];
      return parts.filter(([from, to]) => from <= to);
    });
  }
  return left;
}
