import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { AcceptanceGate, type GateOptions, resolveGateOptions } from './acceptance-gate.ts';

/** Attempts of ten guessed tokens, one step each. Returns after how many of them the gate paused, if it did. */
function attemptUntilPause(gate: AcceptanceGate, numAccepted: number, most = 100): number | undefined {
  for (let count = 1; count <= most; count++) {
    expect(gate.admit()).toBe(true);
    gate.recordAttempt(10, numAccepted);
    if (gate.state.remainingSteps > 0) return count;
  }
  return undefined;
}

/** Goes through a pause and returns how many steps it had. */
function sitOut(gate: AcceptanceGate): number {
  let steps = 0;
  while (!gate.admit()) steps++;
  return steps;
}

describe('the acceptance gate', () => {
  it('pauses after ten attempts under 30%, for 5 steps, twice as long each time, up to 80', () => {
    const gate = new AcceptanceGate();
    const pauses: number[] = [];
    for (let i = 0; i < 7; i++) {
      expect(attemptUntilPause(gate, 2)).toBe(10);
      expect(gate.numPauses).toBe(i + 1);
      pauses.push(sitOut(gate));
    }
    expect(pauses).toEqual([5, 10, 20, 40, 80, 80, 80]);
  });

  it('stays open at exactly 30%', () => {
    const gate = new AcceptanceGate();
    expect(attemptUntilPause(gate, 3, 1000)).toBeUndefined();
    expect(gate.numPauses).toBe(0);
  });

  it('judges tokens, not attempts', () => {
    const gate = new AcceptanceGate({ window: 2 });
    gate.recordAttempt(1, 1);
    gate.recordAttempt(8, 0);
    expect(gate.numPauses).toBe(1);
    const other = new AcceptanceGate({ window: 2 });
    other.recordAttempt(1, 0);
    other.recordAttempt(8, 4);
    expect(other.numPauses).toBe(0);
  });

  it('looks at the last ten attempts only', () => {
    const gate = new AcceptanceGate();
    attemptUntilPause(gate, 10, 50);
    expect(gate.state.attempts).toHaveLength(10);
    // Of ten good attempts, eight must leave the window before it holds less than 30%.
    expect(attemptUntilPause(gate, 0)).toBe(8);
  });

  it('forgets what was before a pause', () => {
    const gate = new AcceptanceGate();
    attemptUntilPause(gate, 0);
    sitOut(gate);
    expect(gate.state).toEqual({ attempts: [], remainingSteps: 0, nextPauseSteps: 10 });
    expect(attemptUntilPause(gate, 3, 9)).toBeUndefined();
    expect(gate.state.nextPauseSteps).toBe(10);
  });

  it('takes pauses as consecutive until a full window was good enough', () => {
    const gate = new AcceptanceGate();
    attemptUntilPause(gate, 0);
    sitOut(gate);
    attemptUntilPause(gate, 0);
    sitOut(gate);
    expect(gate.state.nextPauseSteps).toBe(20);
    // Nine good attempts are no window yet.
    attemptUntilPause(gate, 10, 9);
    expect(gate.state.nextPauseSteps).toBe(20);
    attemptUntilPause(gate, 10, 1);
    expect(gate.state.nextPauseSteps).toBe(5);
    attemptUntilPause(gate, 0);
    expect(sitOut(gate)).toBe(5);
  });

  it('pauses at once when the proposer fails, by the same count', () => {
    const gate = new AcceptanceGate();
    gate.recordFailure();
    expect(sitOut(gate)).toBe(5);
    gate.recordFailure();
    expect(sitOut(gate)).toBe(10);
    attemptUntilPause(gate, 0);
    expect(sitOut(gate)).toBe(20);
    expect(gate.numPauses).toBe(3);
  });

  it('never pauses for poor guesses with a least acceptance of 0', () => {
    expect(attemptUntilPause(new AcceptanceGate({ minAcceptance: 0 }), 0, 200)).toBeUndefined();
  });

  it.each<GateOptions>([
    { window: 1, minAcceptance: 0.5, pauseSteps: 1, maxPauseSteps: 1 },
    { window: 1, minAcceptance: 1, pauseSteps: 1, maxPauseSteps: 3 },
    { window: 2, minAcceptance: 0.5, pauseSteps: 1, maxPauseSteps: 4 },
    { window: 3, minAcceptance: 0.4, pauseSteps: 2, maxPauseSteps: 5 },
  ])('does what its rules say in every history of 10 steps, with %j', (options) => {
    for (let history = 0; history < 3 ** 10; history++) {
      const gate = new AcceptanceGate(options);
      const admitted: boolean[] = [];
      const outcomes: Outcome[] = [];
      for (let step = 0, rest = history; step < 10; step++, rest = Math.floor(rest / 3)) {
        const outcome = (['stands', 'falls', 'fails'] as const)[rest % 3]!;
        outcomes.push(outcome);
        admitted.push(gate.admit());
        if (!admitted.at(-1)) continue;
        if (outcome === 'fails') gate.recordFailure();
        else gate.recordAttempt(1, outcome === 'stands' ? 1 : 0);
      }
      const expected = admittedByRules(outcomes, resolveGateOptions(options));
      if (admitted.join() !== expected.join()) expect(admitted, outcomes.join()).toEqual(expected);
    }
  });

  it('checks its options', () => {
    for (const options of [
      { window: 0 },
      { window: 2.5 },
      { minAcceptance: 1.1 },
      { minAcceptance: Number.NaN },
      { pauseSteps: 0 },
      { pauseSteps: 6, maxPauseSteps: 5 },
      { maxPauseSteps: 4 },
      { pauseSteps: '5' as unknown as number },
    ]) {
      expect(() => new AcceptanceGate(options), JSON.stringify(options)).toThrow(InvalidArgumentError);
    }
    expect(resolveGateOptions({ pauseSteps: 100 }).maxPauseSteps).toBe(100);
  });
});

type Outcome = 'stands' | 'falls' | 'fails';

/** The rules from the whole history at every step, with nothing kept from one step to the next. */
function admittedByRules(outcomes: readonly Outcome[], options: ReturnType<typeof resolveGateOptions>): boolean[] {
  const admitted: boolean[] = [];
  for (let step = 0; step < outcomes.length; step++) admitted.push(step >= endOfPauses(outcomes.slice(0, step)));
  return admitted;

  /** The first step after the pauses that the past calls for. */
  function endOfPauses(past: readonly Outcome[]): number {
    let opened = 0;
    let numConsecutive = 0;
    for (let now = 0; now < past.length; now++) {
      if (now < opened) continue;
      const window = past.slice(Math.max(opened, now + 1 - options.window), now + 1);
      const isFull = window.length === options.window;
      const isGood = window.filter((outcome) => outcome === 'stands').length >= options.minAcceptance * window.length;
      if (past[now] === 'fails' || (isFull && !isGood)) {
        opened = now + 1 + Math.min(options.pauseSteps * 2 ** numConsecutive, options.maxPauseSteps);
        numConsecutive++;
      } else if (isFull) {
        numConsecutive = 0;
      }
    }
    return opened;
  }
}
