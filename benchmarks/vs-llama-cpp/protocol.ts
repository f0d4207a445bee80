/** What the parent asks a runner process, one at a time. Both runners hold the same model and measure the same things. */
export type Question =
  /** Time from the call until the first token of a prompt of so many tokens in a fresh sequence. */
  | { readonly kind: 'prefill'; readonly tokenIds: readonly number[] }
  /** Time of `numTokens` greedy tokens after the first, behind a context that is in the cache already. */
  | { readonly kind: 'decode'; readonly tokenIds: readonly number[]; readonly numTokens: number };

export interface Answer {
  readonly milliseconds: number;
}

/** First message of a runner: it is loaded and warm. */
export interface Ready {
  readonly ready: true;
  /** Milliseconds from the start of loading to the model being usable. */
  readonly loadMs: number;
  /** How it was built and what it runs on, as it says itself. */
  readonly description: string;
}

export interface RunnerSettings {
  readonly modelPath: string;
  readonly numThreads: number;
  readonly contextLength: number;
  /** Peer only. */
  readonly flashAttention?: boolean;
}

/** Answers questions until the parent disconnects. */
export function serve(ready: Ready, answer: (question: Question) => Promise<number>): void {
  process.on('message', (question: Question) => {
    answer(question).then(
      (milliseconds) => process.send?.({ milliseconds } satisfies Answer),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.(ready);
}

export function settings(): RunnerSettings {
  return JSON.parse(process.argv[2]!) as RunnerSettings;
}
