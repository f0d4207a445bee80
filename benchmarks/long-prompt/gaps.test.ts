import { describe, expect, it } from 'vitest';
import { gapsAround } from './gaps.ts';

describe('gapsAround', () => {
  it('tells the gaps before from those that something fell into', () => {
    const times = [
      [0, 10, 20, 60, 90, 100],
      [5, 15, 25, 65, 95, 105],
    ];
    // The gaps from 20 to 60 and from 25 to 65 are the first ones that reach past 30.
    expect(gapsAround(times, 30, 80)).toEqual({ normal: 10, during: 35, largest: 40, numDuring: 4, duringMs: 50 });
  });

  it('counts a stream that makes nothing until the end', () => {
    expect(gapsAround([[0, 10, 20]], 25, 1000).largest).toBe(980);
  });

  it('refuses to call anything normal that was not seen', () => {
    expect(() => gapsAround([[20, 30]], 10, 40)).toThrow(/no normal gap/);
  });
});
