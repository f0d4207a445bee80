/**
 * Patterns of SQLite's LIKE for texts that contain `text`. LIKE takes letters of ASCII for equal in both cases; for others the
 * cases in which words are commonly written have a pattern each.
 */
export function searchPatterns(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const spellings = [text, lower, text.toUpperCase(), lower.replace(/^./u, (first) => first.toUpperCase())];
  const byFold = new Map(spellings.map((spelling) => [foldAscii(spelling), spelling]));
  return [...byFold.values()].map((spelling) => `%${spelling.replace(/[\\%_]/g, '\\$&')}%`);
}

function foldAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
