import { median, spread } from '../vs-llama-cpp/statistics.ts';
import type { ServingAnswer, ServingPhase } from './protocol.ts';

/** One place of the table: what is measured on which model. */
export interface ServingCell {
  readonly model: string;
  readonly sequences: number;
  readonly phase: ServingPhase;
}

/** What answered in a round: Hearth, Hearth with one sequence, or the peer in one of its two ways to attend. */
export type Player = 'hearth' | 'single' | 'plain' | 'flash';

/** A speed, in tokens per second: the median of the rounds, and half the distance between their quartiles as a share of it. */
export interface Speed {
  readonly median: number;
  readonly spread: number;
}

/** A cell, measured. */
export interface MeasuredServing extends ServingCell {
  readonly rounds: number;
  readonly hearth: Speed;
  /** How many times as fast as Hearth with one sequence, in the same rounds. Of `decode` alone. */
  readonly toSingle?: Speed;
  readonly peer?: Speed;
  /** How many times as fast as the peer. */
  readonly toPeer?: Speed;
  readonly peerAttention?: 'plain' | 'flash';
}

/** What `results/*.json` holds. */
export interface ServingResults {
  readonly machine: string;
  readonly commit: string;
  /** ISO 8601, when the run ended. */
  readonly date: string;
  readonly threads: number;
  readonly hearth: string;
  readonly peer?: string;
  readonly cells: readonly MeasuredServing[];
  /** Asked for, but not measured in the time there was. */
  readonly leftOut: readonly ServingCell[];
}

/**
 * Milliseconds per token that came, all sequences together. `output`: of all tokens, from the start. `decode`: of those after
 * the moment at which every sequence has its first, so that all decode.
 */
export function msPerToken({ tokenMs }: ServingAnswer, phase: ServingPhase): number {
  const begin = phase === 'output' ? 0 : Math.max(...tokenMs.map((times) => times[0]!));
  const counted = tokenMs.flat().filter((ms) => ms > begin);
  return (Math.max(...counted) - begin) / counted.length;
}

/** @param taken milliseconds per token by round of those that were asked; what was taken in one round belongs together */
export function measuredServing(
  cell: ServingCell,
  taken: ReadonlyMap<Player, readonly number[]>,
  peerAttention?: 'plain' | 'flash',
): MeasuredServing {
  const speeds = (player: Player) => taken.get(player)?.map((milliseconds) => 1000 / milliseconds) ?? [];
  const [hearth, single] = [speeds('hearth'), speeds('single')];
  const peer = peerAttention ? speeds(peerAttention) : [];
  return {
    ...cell,
    rounds: hearth.length,
    hearth: speedOf(hearth),
    ...(single.length > 0 && { toSingle: ratioOf(hearth, single) }),
    ...(peerAttention && { peer: speedOf(peer), toPeer: ratioOf(hearth, peer), peerAttention }),
  };
}

function speedOf(speeds: readonly number[]): Speed {
  return { median: median(speeds), spread: spread(speeds) };
}

function ratioOf(ours: readonly number[], theirs: readonly number[]): Speed {
  return { median: median(ours) / median(theirs), spread: spread(ours.map((speed, round) => speed / theirs[round]!)) };
}
