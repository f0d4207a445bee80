/** What the parent asks a runner process, one at a time. Both runners hold the same model and measure the same things. */
export type Question = (
  | {
      /** Time from the call until the first token of this prompt in a fresh sequence. */
      readonly kind: 'prefill';
    }
  | {
      /**
       * Time of `numTokens` greedy tokens after the first, behind this prompt. A prompt that the same engine was asked for
       * last is in its cache still.
       */
      readonly kind: 'decode';
      readonly numTokens: number;
    }
) & {
  readonly tokenIds: readonly number[];
  /** Peer only: which of its two ways to attend. */
  readonly flashAttention?: boolean;
};

export interface Answer {
  readonly milliseconds: number;
}

/** First message of a runner: it is loaded. */
export interface Ready {
  readonly ready: true;
  /** Milliseconds from the start of loading to the model being usable. */
  readonly loadMs: number;
  /** How it was built and what it runs on, as it says itself. */
  readonly description: string;
  /** Peer only: which of its libraries for CPUs it has loaded; absent where that cannot be seen. */
  readonly cpuLibrary?: string | undefined;
}

export interface RunnerSettings {
  readonly modelPath: string;
  readonly numThreads: number;
  readonly contextLength: number;
  /** Peer only: the module to import. */
  readonly peerEntry?: string;
}

/** Answers questions until the parent disconnects. Benchmarks with questions of their own name their types. */
export function serve<Asked = Question, Answered = Answer>(
  ready: Ready,
  answer: (question: Asked) => Promise<Answered>,
): void {
  process.on('message', (question: Asked) => {
    answer(question).then(
      (answered) => process.send?.(answered),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on('disconnect', () => process.exit(0));
  process.send?.(ready);
}

export function settings<Settings = RunnerSettings>(): Settings {
  return JSON.parse(process.argv[2]!) as Settings;
}
