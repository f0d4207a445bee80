import { pathToFileURL } from 'node:url';
import { peerEntry } from '../vs-llama-cpp/install-peer.ts';

/** node-llama-cpp, as far as it is asked here. */
export interface Peer {
  load(path: string, contextLength: number): Promise<PeerModel>;
  dispose(): Promise<void>;
}

export interface PeerModel {
  /** The most likely continuation, end tokens included. */
  greedy(tokenIds: readonly number[], numTokens: number): Promise<number[]>;
  /** The most likely token after each of these. */
  bestTokens(tokenIds: readonly number[]): Promise<number[]>;
  dispose(): Promise<void>;
}

/** The package lies in .cache, so it is imported by path and has no types. */
export async function startPeer(numThreads: number): Promise<Peer> {
  const { getLlama } = await import(pathToFileURL(peerEntry).href);
  const llama = await getLlama({ gpu: false, build: 'never', maxThreads: numThreads, logLevel: 'error' });
  return {
    async load(modelPath, contextSize) {
      const model = await llama.loadModel({ modelPath });
      const context = await model.createContext({ contextSize, threads: numThreads });
      const sequence = context.getSequence();
      return {
        async greedy(tokenIds, numTokens) {
          await sequence.clearHistory();
          const made: number[] = [];
          for await (const token of sequence.evaluate([...tokenIds], { temperature: 0, yieldEogToken: true })) {
            made.push(token);
            if (made.length === numTokens) break;
          }
          return made;
        },
        async bestTokens(tokenIds) {
          await sequence.clearHistory();
          const generateNext = { token: true, options: { temperature: 0 } };
          const outputs = await sequence.controlledEvaluate(tokenIds.map((token) => [token, { generateNext }]));
          return outputs.map((output: { next: { token: number } }) => output.next.token);
        },
        dispose: () => model.dispose(),
      };
    },
    dispose: () => llama.dispose(),
  };
}
