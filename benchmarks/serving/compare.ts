import { benchmarkModel } from '../models.ts';
import { promptIds } from '../prompt-ids.ts';
import { alternate, bestOf } from '../vs-llama-cpp/alternate.ts';
import { requireFastPeer } from '../vs-llama-cpp/peer-build.ts';
import type { RunnerSettings } from '../vs-llama-cpp/protocol.ts';
import { Runner } from '../vs-llama-cpp/runner.ts';
import {
  contextLength,
  decodedTokens,
  outputTokens,
  promptTokens,
  type ServingAnswer,
  type ServingQuestion,
} from './protocol.ts';
import { type MeasuredServing, measuredServing, msPerToken, type Player, type ServingCell } from './results.ts';

export interface CompareOptions {
  readonly numThreads: number;
  readonly rounds: number;
  /** On the clock of `performance.now()`. */
  readonly budgetEnds: number;
  /** Whether the peer is asked too. */
  readonly withPeer: boolean;
}

export interface Comparison {
  readonly cells: readonly MeasuredServing[];
  readonly leftOut: readonly ServingCell[];
  /** How Hearth and the peer say they ran. */
  readonly hearth: string;
  readonly peer?: string;
}

type ServingRunner = Runner<ServingQuestion, ServingAnswer>;

const peers = ['plain', 'flash'] as const;

/**
 * Measures cells of one model, smaller numbers of sequences first. Both engines hold the model at the same time, and nothing
 * else does.
 * @param laterSequences of the cells of other models, that the rest of the budget is for as well
 */
export async function compareServing(
  cells: readonly ServingCell[],
  laterSequences: number,
  { numThreads, rounds, budgetEnds, withPeer }: CompareOptions,
): Promise<Comparison> {
  const { path: modelPath } = await benchmarkModel(cells[0]!.model);
  const numSequences = Math.max(...cells.map(({ sequences }) => sequences));
  const settings: RunnerSettings & { numSequences: number } = { modelPath, numThreads, contextLength, numSequences };
  const directory = new URL('.', import.meta.url);
  const runners: ServingRunner[] = [];
  const start = async (name: 'hearth' | 'peer') => {
    const runner = await Runner.start<ServingQuestion, ServingAnswer>(name, settings, {}, directory);
    runners.push(runner);
    return runner;
  };
  try {
    const hearth = await start('hearth');
    const peer = withPeer ? await start('peer') : undefined;
    if (peer) requireFastPeer(peer.ready.description);

    const measured: MeasuredServing[] = [];
    const leftOut: ServingCell[] = [];
    for (const [index, cell] of cells.entries()) {
      // What a cell takes grows with its sequences, and so does its share of the time.
      const now = performance.now();
      const left = totalSequences(cells.slice(index)) + laterSequences;
      const shareEnds = now + ((budgetEnds - now) * cell.sequences) / left;
      const ask = async (player: Player, round: number) => {
        const question = questionOf(cell, player, round);
        const runner = player === 'plain' || player === 'flash' ? peer! : hearth;
        return msPerToken(await runner.ask(question), cell.phase);
      };
      const ours: readonly Player[] = cell.phase === 'decode' && cell.sequences > 1 ? ['hearth', 'single'] : ['hearth'];
      const sides = [...ours.map((player) => [player]), ...(peer ? [peers] : [])];
      // Decoding with as many sequences has warmed what the whole answers need.
      const limits = { rounds, shareEnds, budgetEnds, warms: cell.phase === 'decode' };
      const taken = await alternate<Player>(sides, ask, limits);
      if (taken.get('hearth')!.length === 0) {
        leftOut.push(cell);
        continue;
      }
      measured.push(measuredServing(cell, taken, peer && bestOf(peers, taken)));
      report(measured.at(-1)!);
    }
    return {
      cells: measured,
      leftOut,
      hearth: hearth.ready.description,
      ...(peer && { peer: `${peer.ready.cpuLibrary ?? 'which library is not known'}; ${peer.ready.description}` }),
    };
  } finally {
    await Promise.all(runners.map((runner) => runner.stop()));
  }
}

export function totalSequences(cells: readonly ServingCell[]): number {
  return cells.reduce((sum, { sequences }) => sum + sequences, 0);
}

/** What to ask in a round. */
export function questionOf({ sequences, phase }: ServingCell, player: Player, round: number): ServingQuestion {
  const count = player === 'single' ? 1 : sequences;
  // Whole answers get other prompts in each round, the same for both: nothing that an engine might have kept is of use.
  const kept = phase === 'decode' ? 0 : sequences * 1000 + round;
  return {
    kind: phase,
    prompts: Array.from({ length: count }, (_, sequence) => promptIds(promptTokens, kept * 1000 + sequence)),
    numTokens: phase === 'decode' ? decodedTokens + 1 : outputTokens,
    ...(player === 'flash' && { flashAttention: true }),
  };
}

function report({ model, sequences, phase, hearth, toSingle, peer, toPeer, rounds }: MeasuredServing): void {
  const beside = peer ? ` beside ${peer.median.toFixed(1)}, ${toPeer!.median.toFixed(2)}` : '';
  const scaled = toSingle ? `; ${toSingle.median.toFixed(2)} times one sequence` : '';
  console.error(
    `${model} ${phase} of ${sequences}: ${hearth.median.toFixed(1)} tokens/s${beside}${scaled}, ${rounds} rounds`,
  );
}
