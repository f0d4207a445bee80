/**
 * Whether parsed JSON is nested more than `depth` levels deep; a number or text has none, `[]` has one. JSON.parse takes any
 * depth, but code that recurses over its result (JSON.stringify, structured clones) ends with the stack at some thousands.
 */
export function isNestedDeeperThan(value: unknown, depth: number): boolean {
  // Level by level, so that the depth of the value does not become depth of the stack here too.
  let level = [value].filter(isContainer);
  for (let number = 1; number <= depth && level.length > 0; number++) {
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return level.length > 0;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
