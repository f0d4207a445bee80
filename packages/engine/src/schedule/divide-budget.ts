/** What a running task would have computed, in numbers. */
export interface Demand {
  /** Tokens that it lacks in the cache, at least one. */
  readonly numTokens: number;
  readonly numProposals: number;
  /** How many of its tokens come before the first output row. */
  readonly numWithoutRow: number;
  /** Of its task. */
  readonly priority: number;
}

/** What one step may hold. */
export interface StepBudget {
  readonly maxTokens: number;
  readonly maxOutputRows: number;
  /** Most tokens of prefill, over all tasks. */
  readonly maxPrefillTokens: number;
  /** Of these, most of tasks whose priority is lower than that of another. */
  readonly maxLowPrefillTokens: number;
}

/** What of a demand goes into the step. `numTokens` 0: nothing. */
export interface Grant {
  numTokens: number;
  numProposals: number;
}

/**
 * Who gets how much of a step. Pure policy; the demands come in the order of their rank:
 *
 * 1. tasks that lack one token, as all do that decode: each gets it;
 * 2. their proposals, as far as tokens and rows go round when each of the others keeps a row for itself;
 * 3. prefill with what is left of the tokens, and no more than the prefill of one step: each takes at most half of the rest
 *    as long as others of its priority come after it, so that a short prompt gets through beside a long one. Lower
 *    priorities have a little of what is left then. What nobody took goes to the first that want it.
 */
export function divideBudget(demands: readonly Demand[], budget: StepBudget): Grant[] {
  const grants = demands.map((): Grant => ({ numTokens: 0, numProposals: 0 }));
  let tokensLeft = budget.maxTokens;
  let rowsLeft = budget.maxOutputRows;
  const take = (at: number, numTokens: number, numProposals: number, numRows: number) => {
    grants[at]!.numTokens += numTokens;
    grants[at]!.numProposals += numProposals;
    tokensLeft -= numTokens + numProposals;
    rowsLeft -= numRows;
  };
  const isDecode = ({ numTokens }: Demand) => numTokens === 1;

  for (const [at, demand] of demands.entries()) {
    const numRows = 1 - Math.min(1, demand.numWithoutRow);
    if (isDecode(demand) && tokensLeft >= 1 && rowsLeft >= numRows) take(at, 1, 0, numRows);
  }
  const numPrefills = demands.filter((demand) => !isDecode(demand)).length;
  for (const [at, { numProposals }] of demands.entries()) {
    if (grants[at]!.numTokens === 0) continue;
    const granted = Math.max(0, Math.min(numProposals, tokensLeft - numPrefills, rowsLeft - numPrefills));
    take(at, 0, granted, granted);
  }
  let prefillLeft = Math.min(budget.maxPrefillTokens, tokensLeft);
  let lowPrefillLeft = budget.maxLowPrefillTokens;
  const prefill = (at: number, share: number) => {
    const { numTokens, numWithoutRow, priority } = demands[at]!;
    const isLow = priority < demands[0]!.priority;
    const done = grants[at]!.numTokens;
    // Output rows bound it too where a row is wanted for more than the last token.
    const mostByRows = Math.max(0, numWithoutRow - done) + rowsLeft;
    const left = isLow ? Math.min(prefillLeft, lowPrefillLeft) : prefillLeft;
    const granted = Math.max(0, Math.min(numTokens - done, Math.ceil(left * share), mostByRows));
    take(at, granted, 0, Math.max(0, done + granted - numWithoutRow) - Math.max(0, done - numWithoutRow));
    prefillLeft -= granted;
    if (isLow) lowPrefillLeft -= granted;
  };
  const prefills = [...demands.keys()].filter((at) => !isDecode(demands[at]!));
  for (const [i, at] of prefills.entries()) {
    const next = demands[prefills[i + 1]!];
    prefill(at, next?.priority === demands[at]!.priority ? 0.5 : 1);
  }
  for (const at of prefills) prefill(at, 1);
  return grants;
}
