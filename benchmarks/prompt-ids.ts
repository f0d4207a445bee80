/**
 * `count` token ids of a text that is noise, the same for the same seed: from the first 250 ids, which every benchmark model
 * has. Texts of different seeds differ from the first few ids on.
 */
export function promptIds(count: number, seed: number): number[] {
  let state = (seed * 2_654_435_761 + 1) % 2 ** 32;
  return Array.from({ length: count }, () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return 3 + (Math.floor(state / 2 ** 16) % 240);
  });
}
