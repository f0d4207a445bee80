/** White space as JSON has it. */
export function isBlankUnit(unit: string): boolean {
  return unit === ' ' || unit === '\n' || unit === '\t' || unit === '\r';
}
