/**
 * The acceptance rule: how many guesses stand. A guess stands when it is the token that was sampled in its place and all
 * guesses before it stand; one that does not makes every later row a continuation of the wrong text.
 *
 * @param guesses the guessed tokens, in order: [k]
 * @param sampled the token sampled in each row of the run, at least [k]: row i follows guess i − 1, row 0 the last true
 *   token. With a accepted guesses, rows 0 to a hold true tokens: one more than was guessed right.
 */
export function countAccepted(guesses: ArrayLike<number>, sampled: ArrayLike<number>): number {
  let count = 0;
  while (count < guesses.length && guesses[count] === sampled[count]) count++;
  return count;
}
