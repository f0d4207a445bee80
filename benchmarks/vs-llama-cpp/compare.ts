import { benchmarkModel } from '../models.ts';
import type { Cell } from './aims.ts';
import { alternate, bestOf } from './alternate.ts';
import { requireFastPeer } from './peer-build.ts';
import type { Question } from './protocol.ts';
import { type MeasuredCell, measured, numDecoded, type PeerAttention } from './results.ts';
import { Runner } from './runner.ts';

export interface CompareOptions {
  readonly numThreads: number;
  readonly rounds: number;
  /** On the clock of `performance.now()`. */
  readonly budgetEnds: number;
  readonly peerEntry: string;
  /** Kernel variant of ours; the best one by default. */
  readonly variant?: string | undefined;
}

export interface Comparison {
  readonly cells: readonly MeasuredCell[];
  readonly leftOut: readonly Cell[];
  /** How Hearth and the peer say they ran. */
  readonly hearth: string;
  readonly peerBuild: string;
  readonly peerCpuLibrary: string | undefined;
}

type Player = 'hearth' | PeerAttention;

const contextLength = 2048;

/**
 * Measures cells of one model. Both engines hold it at the same time, and nothing else does.
 * @param numLater cells of other models that the rest of the budget is for as well
 * @throws Error when the peer does not count, or a runner ends
 */
export async function compare(cells: readonly Cell[], numLater: number, options: CompareOptions): Promise<Comparison> {
  const { numThreads, rounds, budgetEnds, peerEntry, variant } = options;
  const { path: modelPath } = await benchmarkModel(`${cells[0]!.shape}-${cells[0]!.format}`);
  const settings = { modelPath, numThreads, contextLength };
  const runners: Runner[] = [];
  try {
    const hearth = await Runner.start('hearth', settings, variant ? { HEARTH_KERNELS_VARIANT: variant } : {});
    runners.push(hearth);
    const peer = await Runner.start('peer', { ...settings, peerEntry });
    runners.push(peer);
    requireFastPeer(peer.ready.description);

    const result: MeasuredCell[] = [];
    const leftOut: Cell[] = [];
    for (const [index, cell] of cells.entries()) {
      const left = budgetEnds - performance.now();
      const shareEnds = performance.now() + left / (cells.length - index + numLater);
      const ask = async (player: Player, round: number) => {
        const question = questionOf(cell, round);
        const isPeer = player !== 'hearth';
        const asked = isPeer ? peer.ask({ ...question, flashAttention: player === 'flash' }) : hearth.ask(question);
        return (await asked).milliseconds;
      };
      const peers: readonly PeerAttention[] = ['plain', 'flash'];
      const taken = left > 0 && (await alternate<Player>([['hearth'], peers], ask, { rounds, shareEnds, budgetEnds }));
      if (!taken || taken.get('hearth')!.length === 0) {
        leftOut.push(cell);
        continue;
      }
      const best = bestOf(peers, taken);
      result.push(measured(cell, taken.get('hearth')!, taken.get(best)!, best));
      report(result.at(-1)!);
    }
    return {
      cells: result,
      leftOut,
      hearth: hearth.ready.description,
      peerBuild: peer.ready.description,
      peerCpuLibrary: peer.ready.cpuLibrary,
    };
  } finally {
    await Promise.all(runners.map((runner) => runner.stop()));
  }
}

/** What to ask for a cell in a round. */
export function questionOf({ phase, context }: Cell, round: number): Question {
  // Another prompt in each round, the same for both: nothing that an engine might have kept is of use.
  if (phase === 'prefill') return { kind: 'prefill', tokenIds: tokens(context, round) };
  // A sequence starts with a token, also at a context of 0.
  return { kind: 'decode', tokenIds: tokens(Math.max(1, context)), numTokens: numDecoded };
}

/** The same ids for both: spread over the first 250 ids, which every benchmark model has. */
function tokens(count: number, shift = 0): number[] {
  return Array.from({ length: count }, (_, i) => 3 + ((i * 37 + shift) % 240));
}

function report({ shape, format, phase, context, hearth, peer, ratio, rounds }: MeasuredCell): void {
  const speeds = `${hearth.toFixed(1)} beside ${peer.toFixed(1)} tokens/s`;
  console.error(`${shape} ${format} ${phase} ${context}: ${speeds}, ${ratio.toFixed(2)}, ${rounds} rounds`);
}
