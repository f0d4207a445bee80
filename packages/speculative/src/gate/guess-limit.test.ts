import { expect, it } from 'vitest';
import { GuessLimit } from './guess-limit.ts';

it('doubles when all guesses stood and halves when not, from 1 to the most there may be', () => {
  const limit = new GuessLimit(12);
  const values = [limit.value];
  for (const numAccepted of [3, 3, 3, 3, 3, 2, 0, 3, 1, 0, 2, 0, 0]) {
    limit.recordAttempt(3, numAccepted);
    values.push(limit.value);
  }
  expect(values).toEqual([1, 2, 4, 8, 12, 12, 6, 3, 6, 3, 1, 1, 1, 1]);
});

it('stays at 1 where there may be no more', () => {
  const limit = new GuessLimit(1);
  limit.recordAttempt(1, 1);
  expect(limit.value).toBe(1);
  limit.recordAttempt(1, 0);
  expect(limit.value).toBe(1);
});
