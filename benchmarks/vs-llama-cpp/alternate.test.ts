import { describe, expect, it } from 'vitest';
import { type AlternateOptions, alternate, bestOf } from './alternate.ts';

/** Players that take a fixed time on a clock of their own. */
async function play(times: Record<string, number>, options: AlternateOptions) {
  let clock = 0;
  const order: string[] = [];
  const [ours, ...theirs] = Object.keys(times);
  const taken = await alternate(
    [[ours!], theirs],
    async (player) => {
      order.push(player);
      clock += times[player]!;
      return times[player]!;
    },
    { now: () => clock, ...options },
  );
  return { order: order.join(''), taken, clock };
}

describe('alternate', () => {
  it('asks in turn, and does not count the first round', async () => {
    const { order, taken } = await play({ a: 1, b: 2 }, { rounds: 3 });
    expect(order).toBe('abababab');
    expect(Object.fromEntries(taken)).toEqual({ a: [1, 1, 1], b: [2, 2, 2] });
  });

  it('counts every round of players that are warm', async () => {
    const { order, taken } = await play({ a: 1, b: 2 }, { rounds: 2, warms: false });
    expect(order).toBe('abab');
    expect(taken.get('a')).toHaveLength(2);
  });

  it('tells the round, the same to all', async () => {
    const rounds: string[] = [];
    const ask = async (player: string, round: number) => {
      rounds.push(`${player}${round}`);
      return 1;
    };
    await alternate([['a'], ['b']], ask, { rounds: 2 });
    expect(rounds).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'b2']);
  });

  it('asks the clearly slower player of a side no more after one counted round', async () => {
    const { order, taken } = await play({ a: 1, b: 13, c: 10 }, { rounds: 3 });
    expect(order).toBe('abcabcacac');
    expect(bestOf(['b', 'c'], taken)).toBe('c');
    // Not the other side's, and not one that is near.
    expect((await play({ a: 9, b: 12, c: 10 }, { rounds: 2 })).order).toBe('abcabcabc');
  });

  it('ends before its share of the time does, but makes one counted round', async () => {
    expect((await play({ a: 1, b: 2 }, { rounds: 9, shareEnds: 11 })).clock).toBe(9);
    expect((await play({ a: 1, b: 2 }, { rounds: 9, shareEnds: 1 })).clock).toBe(6);
  });

  it('makes no counted round that would end after the budget', async () => {
    const { taken, clock } = await play({ a: 1, b: 2 }, { rounds: 9, budgetEnds: 5 });
    expect(clock).toBe(3);
    expect([...taken.values()]).toEqual([[], []]);
    expect((await play({ a: 1, b: 2 }, { rounds: 9, shareEnds: 9, budgetEnds: 6 })).clock).toBe(6);
  });
});
