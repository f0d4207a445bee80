/** What guessing has come to. All numbers only grow. */
export interface ProposerStats {
  /** Steps whose guesses were verified. */
  readonly attempts: number;
  /** Guesses in them. */
  readonly proposedTokens: number;
  /** Guesses that stood: tokens that took no step of their own. */
  readonly acceptedTokens: number;
  /** Times that the gate closed. */
  readonly pauses: number;
  /** Steps that went by without asking because of it. */
  readonly pausedSteps: number;
  /** Times that the proposer threw instead of guessing. */
  readonly failures: number;
  /** What the last of them said. */
  readonly lastFailure?: string;
}

/** Of all proposers together, and of each by its name. Proposers of one name count as one. */
export interface SpeculationStats extends ProposerStats {
  readonly byProposer: Readonly<Record<string, ProposerStats>>;
}

const none: ProposerStats = {
  attempts: 0,
  proposedTokens: 0,
  acceptedTokens: 0,
  pauses: 0,
  pausedSteps: 0,
  failures: 0,
};

/** The stats of several sequences as one; all zero for none. */
export function sumSpeculationStats(all: Iterable<SpeculationStats>): SpeculationStats {
  return groupByName([...all].flatMap((stats) => Object.entries(stats.byProposer)));
}

/** Stats with their names, of any number of proposers. */
export function groupByName(entries: readonly (readonly [name: string, stats: ProposerStats])[]): SpeculationStats {
  // A map, because a name may be any text, `__proto__` too.
  const byName = new Map<string, ProposerStats>();
  for (const [name, stats] of entries) byName.set(name, add(byName.get(name) ?? none, stats));
  const total = entries.reduce((sum, [, stats]) => add(sum, stats), none);
  return { ...total, byProposer: Object.fromEntries(byName) };
}

function add(a: ProposerStats, b: ProposerStats): ProposerStats {
  const lastFailure = b.lastFailure ?? a.lastFailure;
  return {
    attempts: a.attempts + b.attempts,
    proposedTokens: a.proposedTokens + b.proposedTokens,
    acceptedTokens: a.acceptedTokens + b.acceptedTokens,
    pauses: a.pauses + b.pauses,
    pausedSteps: a.pausedSteps + b.pausedSteps,
    failures: a.failures + b.failures,
    ...(lastFailure !== undefined && { lastFailure }),
  };
}
