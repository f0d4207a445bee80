interface Node {
  /** Index of the literal that ends here, or -1. */
  literal: number;
  children: Map<number, Node> | undefined;
}

/** A place where a literal stands in a text: `text.slice(start, end)` is literal number `literal`. */
export interface LiteralMatch {
  literal: number;
  start: number;
  end: number;
}

/**
 * Finds any of many literals in a text: leftmost first, the longest where several begin, no overlaps. A trie over UTF-16
 * units; time is the length of the text times the longest prefix that literals share with it.
 */
export class LiteralMatcher {
  readonly #root: Node = { literal: -1, children: undefined };

  /** Empty literals are never found; of equal ones the first is. */
  constructor(literals: readonly string[]) {
    literals.forEach((literal, index) => {
      if (literal === '') return;
      let node = this.#root;
      for (let position = 0; position < literal.length; position++) {
        node.children ??= new Map();
        const unit = literal.charCodeAt(position);
        let child = node.children.get(unit);
        if (child === undefined) {
          child = { literal: -1, children: undefined };
          node.children.set(unit, child);
        }
        node = child;
      }
      if (node.literal < 0) node.literal = index;
    });
  }

  *findAll(text: string): Generator<LiteralMatch> {
    if (this.#root.children === undefined) return;
    for (let start = 0; start < text.length; ) {
      const match = this.#longestAt(text, start);
      if (match !== undefined) yield match;
      start = match?.end ?? start + 1;
    }
  }

  #longestAt(text: string, start: number): LiteralMatch | undefined {
    let match: LiteralMatch | undefined;
    let node: Node | undefined = this.#root;
    for (let end = start; end < text.length; ) {
      node = node.children?.get(text.charCodeAt(end));
      if (node === undefined) break;
      end++;
      if (node.literal >= 0) match = { literal: node.literal, start, end };
    }
    return match;
  }
}
