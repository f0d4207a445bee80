import { type Aim, aimOf, type Cell } from './aims.ts';
import { median, spread } from './statistics.ts';

/** A cell, measured. Speeds are medians, in tokens per second. */
export interface MeasuredCell extends Cell, Partial<Aim> {
  readonly hearth: number;
  readonly peer: number;
  /** hearth / peer */
  readonly ratio: number;
  /** Half the distance between the quartiles of the rounds' ratios, as a share of their median. */
  readonly spread: number;
  /** The same of the speeds. */
  readonly hearthSpread: number;
  readonly peerSpread: number;
  /** Rounds that counted. */
  readonly rounds: number;
  /** Which of its ways to attend was the better one here. */
  readonly peerAttention: PeerAttention;
}

export type PeerAttention = 'plain' | 'flash';

/** What `results/*.json` holds. */
export interface Results {
  readonly machine: string;
  readonly commit: string;
  /** ISO 8601, when the run ended. */
  readonly date: string;
  readonly threads: number;
  /** How Hearth says it ran. */
  readonly hearth: string;
  readonly peer: string;
  /** The line of the peer about its build. */
  readonly peerBuild: string;
  readonly cells: readonly MeasuredCell[];
  /** Asked for, but not measured in the time there was. */
  readonly leftOut: readonly Cell[];
}

/** Tokens that are made in a decode cell, after the first. */
export const numDecoded = 32;

/** @param ours milliseconds by round @param theirs those of the same rounds */
export function measured(
  cell: Cell,
  ours: readonly number[],
  theirs: readonly number[],
  peerAttention: PeerAttention,
): MeasuredCell {
  const numTokens = cell.phase === 'prefill' ? cell.context : numDecoded;
  const speeds = (times: readonly number[]) => times.map((milliseconds) => (1000 * numTokens) / milliseconds);
  const [hearth, peer] = [speeds(ours), speeds(theirs)];
  const { shape, format, phase, context } = cell;
  const aims = aimOf(cell);
  return {
    ...{ shape, format, phase, context },
    hearth: median(hearth),
    peer: median(peer),
    ratio: median(hearth) / median(peer),
    spread: spread(hearth.map((speed, round) => speed / peer[round]!)),
    hearthSpread: spread(hearth),
    peerSpread: spread(peer),
    rounds: ours.length,
    peerAttention,
    ...(aims && { aim: aims.aim, least: aims.least }),
  };
}

export type Verdict = 'aim' | 'done' | 'below';

/** How a cell stands to its aim; undefined when it has none. */
export function verdictOf({ ratio, aim, least }: MeasuredCell): Verdict | undefined {
  if (aim === undefined || least === undefined) return undefined;
  if (ratio >= aim) return 'aim';
  return ratio >= least ? 'done' : 'below';
}
