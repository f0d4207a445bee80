import { median } from './statistics.ts';

export interface AlternateOptions {
  /** Most rounds that count. */
  readonly rounds: number;
  /** When the last round should have ended, on the clock `now`. A first counted round is made even if it is late ... */
  readonly shareEnds?: number;
  /** ... unless it would end after this. */
  readonly budgetEnds?: number;
  /** Whether a round that does not count warms everybody. Default: true. */
  readonly warms?: boolean;
  /** Milliseconds. */
  readonly now?: () => number;
}

/** A player that is this much slower than another of its side after the first counted round is not asked again. */
const hopeless = 1.25;

/**
 * Asks players in turn, A B C A B C ..., and keeps what each took, round by round. The first round warms everybody and does
 * not count, unless they are warm. Rounds end early when the next one, taking as long as the last, would end too late.
 *
 * @param sides players of one side, of which the best counts in the end: one that is clearly slower than another leaves after
 * the first counted round
 * @param ask is told the round, 0 for the one that warms
 * @returns milliseconds of the counted rounds by player, empty when the budget did not allow one
 */
export async function alternate<Player>(
  sides: readonly (readonly Player[])[],
  ask: (player: Player, round: number) => Promise<number>,
  {
    rounds,
    shareEnds = Infinity,
    budgetEnds = Infinity,
    warms = true,
    now = () => performance.now(),
  }: AlternateOptions,
): Promise<Map<Player, number[]>> {
  let playing = sides.map((side) => [...side]);
  const taken = new Map<Player, number[]>(sides.flat().map((player) => [player, []]));
  let begin = now();
  if (warms) for (const player of playing.flat()) await ask(player, 0);
  for (let round = 0; round < rounds; round++) {
    const last = now() - begin;
    begin = now();
    if (begin + last > (round === 0 ? budgetEnds : Math.min(shareEnds, budgetEnds))) break;
    for (const player of playing.flat()) taken.get(player)!.push(await ask(player, round + 1));
    if (round === 0) playing = playing.map((side) => withoutHopeless(side, taken));
  }
  return taken;
}

/** Of one side, the player whose median is best, among those that were asked to the end. */
export function bestOf<Player, Mate extends Player>(
  side: readonly Mate[],
  taken: ReadonlyMap<Player, readonly number[]>,
): Mate {
  const numRounds = Math.max(...side.map((player) => taken.get(player)!.length));
  const stayed = side.filter((player) => taken.get(player)!.length === numRounds);
  return stayed.reduce((best, player) => (median(taken.get(player)!) < median(taken.get(best)!) ? player : best));
}

function withoutHopeless<Player>(side: readonly Player[], taken: ReadonlyMap<Player, readonly number[]>): Player[] {
  const least = Math.min(...side.map((player) => taken.get(player)![0]!));
  return side.filter((player) => taken.get(player)![0]! <= hopeless * least);
}
