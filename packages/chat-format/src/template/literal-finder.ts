interface Node {
  isEnd: boolean;
  children: Map<number, Node>;
}

/** Finds the literals of special tokens in texts: leftmost first, the longest where several begin. */
export class LiteralFinder {
  readonly #root: Node = { isEnd: false, children: new Map() };
  /** Length of the longest literal. */
  readonly maxLength: number;

  constructor(literals: readonly string[]) {
    let maxLength = 0;
    for (const literal of literals) {
      if (literal === '') continue;
      maxLength = Math.max(maxLength, literal.length);
      let node = this.#root;
      for (let index = 0; index < literal.length; index++) {
        const unit = literal.charCodeAt(index);
        let child = node.children.get(unit);
        if (child === undefined) {
          child = { isEnd: false, children: new Map() };
          node.children.set(unit, child);
        }
        node = child;
      }
      node.isEnd = true;
    }
    this.maxLength = maxLength;
  }

  /** End of the longest literal that begins at `start`, or -1. */
  endAt(text: string, start: number): number {
    let longest = -1;
    let node: Node | undefined = this.#root;
    for (let end = start; end < text.length; ) {
      node = node.children.get(text.charCodeAt(end));
      if (node === undefined) break;
      end++;
      if (node.isEnd) longest = end;
    }
    return longest;
  }

  /** Number of places where a literal begins. */
  count(text: string): number {
    let count = 0;
    for (let start = 0; start < text.length; start++) if (this.endAt(text, start) >= 0) count++;
    return count;
  }

  /** Whether all of the text from `start` on could be the beginning of a literal. */
  mayBeginAt(text: string, start: number): boolean {
    let node: Node | undefined = this.#root;
    for (let index = start; index < text.length; index++) {
      node = node.children.get(text.charCodeAt(index));
      if (node === undefined) return false;
    }
    return true;
  }
}
