import { expect, it } from 'vitest';
import { countAccepted } from './count-accepted.ts';

it.each<[number[], number[], number]>([
  [[], [7], 0],
  [[5], [5, 7], 1],
  [[5], [6, 7], 0],
  [[5, 6, 7], [5, 6, 7, 8], 3],
  // The last guess is right by chance: its row continued another text.
  [[5, 6, 7], [5, 9, 7, 8], 1],
])('of the guesses %j with the samples %j, %i stand', (guesses, sampled, count) => {
  expect(countAccepted(guesses, sampled)).toBe(count);
});
