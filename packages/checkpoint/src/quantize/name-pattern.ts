/**
 * Whether a name fits a pattern, in which `*` stands for any characters or none. It goes back to the latest `*` alone, so
 * it takes at most pattern · name steps, whatever the pattern.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  let p = 0;
  let n = 0;
  /** The place behind the latest `*`, and where the text after it was last tried. */
  let star = -1;
  let tried = 0;
  while (n < name.length) {
    if (pattern[p] === '*') {
      star = ++p;
      tried = n;
    } else if (pattern[p] === name[n]) {
      p++;
      n++;
    } else if (star >= 0) {
      p = star;
      n = ++tried;
    } else {
      return false;
    }
  }
  while (pattern[p] === '*') p++;
  return p === pattern.length;
}
