/** Where a JSON text stops being one, and what is wrong there. */
export interface JsonError {
  /** Index of the first UTF-16 unit that does not fit; the length of the text if it ends too early. */
  position: number;
  reason: string;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;
const blanks = /[ \t\n\r]*/y;
// A string up to and with its closing quote, or as far as it is sound. RFC 8259: no control characters, known escapes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const stringBody = /(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;

/**
 * Finds the first error in a text that `JSON.parse` refuses: V8's own messages name no position for most of them. Walks
 * the grammar with a stack of open brackets, so that deep nesting costs no recursion.
 */
export function findJsonError(text: string): JsonError {
  const open: ('{' | '[')[] = [];
  let position = 0;
  const fail = (reason: string): JsonError => ({
    position,
    reason: position < text.length ? reason : 'it ends too early',
  });
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = position;
    if (!pattern.test(text)) return false;
    position = pattern.lastIndex;
    return true;
  };
  const takeString = (): boolean => {
    position++;
    take(stringBody);
    if (text[position] !== '"') return false;
    position++;
    return true;
  };
  const takeKey = (): JsonError | undefined => {
    take(blanks);
    if (text[position] !== '"') return fail('a key in quotes is expected');
    if (!takeString()) return fail('a string holds a character or escape that JSON does not allow');
    take(blanks);
    if (text[position] !== ':') return fail('":" is expected after a key');
    position++;
    return undefined;
  };

  for (;;) {
    take(blanks);
    const next = text[position];
    if (next === '{' || next === '[') {
      open.push(next);
      position++;
      take(blanks);
      const isEmpty = text[position] === (next === '{' ? '}' : ']');
      if (!isEmpty) {
        const error = next === '{' ? takeKey() : undefined;
        if (error !== undefined) return error;
        continue;
      }
    } else if (next === '"') {
      if (!takeString()) return fail('a string holds a character or escape that JSON does not allow');
    } else if (!take(literal) && !take(number)) {
      return fail('a value is expected');
    }
    // After a value: close what ends here, then go on to the next entry.
    for (;;) {
      take(blanks);
      const bracket = open.at(-1);
      if (bracket === undefined) return fail('something follows after the end');
      if (text[position] !== (bracket === '{' ? '}' : ']')) break;
      open.pop();
      position++;
    }
    if (text[position] !== ',') return fail(`"," or "${open.at(-1) === '{' ? '}' : ']'}" is expected`);
    position++;
    const error = open.at(-1) === '{' ? takeKey() : undefined;
    if (error !== undefined) return error;
  }
}
