import fc from 'fast-check';
import { tinyContextLength, tinyVocabSize } from './tiny-models.ts';

/** One client of a model: a session, and what it does with it, one thing after the other. */
export interface Client {
  readonly prompt: readonly number[];
  readonly cacheSalt: string;
  readonly actions: readonly Action[];
}

export type Action =
  | { readonly kind: 'generate'; readonly request: Request }
  | { readonly kind: 'extend' | 'forward' | 'score'; readonly tokenIds: readonly number[] }
  /** Of its tokens so far: an embedding, which has a sequence of its own. */
  | { readonly kind: 'embed'; readonly priority: number }
  /** To so much of its length, or to the last border of a block before that. */
  | { readonly kind: 'truncate'; readonly share: number; readonly toBorder: boolean }
  | { readonly kind: 'prefill' }
  /** It goes on from a file. */
  | { readonly kind: 'saveAndLoad' }
  /** A second session of the same tokens does these actions, at the same time as this one does those that follow. */
  | { readonly kind: 'fork'; readonly actions: readonly Action[] };

/** A generation. Where the end comes from its own text, it is looked up in the solo run first, so that it does come. */
export interface Request {
  readonly maxTokens: number | null;
  readonly sampling: {
    readonly temperature: number;
    readonly seed: bigint;
    readonly choiceIndex?: number;
    readonly topK?: number;
    readonly topP?: number;
    readonly minP?: number;
    readonly typicalP?: number;
    readonly repetitionPenalty?: number;
    readonly repetitionWindow?: number;
    readonly frequencyPenalty?: number;
    readonly presencePenalty?: number;
    readonly logitBias?: Readonly<Record<string, number>>;
  };
  readonly logprobs: number | undefined;
  readonly mask: 'none' | 'thirds' | 'sometimes';
  /** Whether the masks are awaited, as those of a grammar, instead of asked for. */
  readonly awaitsMasks: boolean;
  readonly end: { readonly kind: 'model' | 'ignoreEos' | 'stopText' | 'stopToken'; readonly at: number };
  readonly priority: number;
  readonly speculation: Guesses;
  /** It is cancelled after so many tokens, and what it has made is cut off again. */
  readonly cancel: { readonly how: 'cancel' | 'leave' | 'signal'; readonly after: number } | undefined;
}

/** Who guesses: the text itself, models, or one that knows the answer but for every `wrongEvery`th token. */
export interface Guesses {
  readonly kind: 'none' | 'lookup' | 'sameModel' | 'otherModel' | 'oracle';
  readonly maxTokens: number;
  readonly wrongEvery: number;
}

const tokenId = fc.integer({ min: 3, max: tinyVocabSize - 1 });
const tokens = (most: number) => fc.array(tokenId, { minLength: 1, maxLength: most });

/** Two texts that prompts begin with. The first repeats itself. */
const texts = [(i: number) => 10 + (i % 7) * 3, (i: number) => 3 + ((i * i + 5 * i) % 280)];

/** The beginning of a text, cut around the borders of blocks of 32, and a tail of its own. */
const prompt = fc
  .record({
    text: fc.constantFrom(...texts),
    length: fc.oneof(fc.constantFrom(1, 31, 32, 33, 63, 64, 65), fc.integer({ min: 1, max: 70 })),
    tail: fc.array(tokenId, { maxLength: 4 }),
  })
  .map(({ text, length, tail }) => [...Array.from({ length }, (_, i) => text(i)), ...tail]);

const sampling = fc.record(
  {
    temperature: fc.constantFrom(0, 0, 0.7, 1, 1.5),
    seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    choiceIndex: fc.nat(2),
    topK: fc.constantFrom(1, 5, 40),
    topP: fc.constantFrom(0.3, 0.9),
    minP: fc.constantFrom(0.05, 0.5),
    typicalP: fc.constantFrom(0.3, 0.9),
    repetitionPenalty: fc.constantFrom(0.8, 1.3),
    repetitionWindow: fc.constantFrom(-1, 0, 1, 8),
    frequencyPenalty: fc.constantFrom(-0.5, 0.7),
    presencePenalty: fc.constantFrom(-0.5, 0.7),
    logitBias: fc.dictionary(tokenId.map(String), fc.constantFrom(-100, -3, 2, 5), { maxKeys: 4 }),
  },
  { requiredKeys: ['temperature', 'seed'] },
);

const guesses = fc.record({
  kind: fc.constantFrom('none', 'lookup', 'sameModel', 'otherModel', 'oracle', 'oracle'),
  maxTokens: fc.integer({ min: 1, max: 16 }),
  wrongEvery: fc.integer({ min: 2, max: 12 }),
}) satisfies fc.Arbitrary<Guesses>;

const request: fc.Arbitrary<Request> = fc.record({
  maxTokens: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 4 }) },
    { weight: 8, arbitrary: fc.integer({ min: 5, max: 30 }) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  sampling,
  logprobs: fc.constantFrom(undefined, 0, 3),
  mask: fc.constantFrom('none', 'none', 'thirds', 'sometimes'),
  awaitsMasks: fc.boolean(),
  end: fc.record({
    kind: fc.constantFrom('model', 'ignoreEos', 'ignoreEos', 'stopText', 'stopToken'),
    at: fc.double({ min: 0, max: 0.99, noNaN: true }),
  }),
  priority: fc.constantFrom(0, 0, 1, -3),
  speculation: guesses,
  cancel: fc.option(
    fc.record({ how: fc.constantFrom('cancel', 'leave', 'signal'), after: fc.integer({ min: 0, max: 6 }) }),
    { nil: undefined, freq: 6 },
  ),
});

const generate = request.map((request): Action => ({ kind: 'generate', request }));
const evaluate = fc.record({ kind: fc.constantFrom('extend', 'forward', 'score'), tokenIds: tokens(8) });
const embed = fc.record({ kind: fc.constant('embed' as const), priority: fc.constantFrom(0, 1, -3) });
const truncate = fc.record({
  kind: fc.constant('truncate' as const),
  share: fc.double({ min: 0.3, max: 1, noNaN: true }),
  toBorder: fc.boolean(),
});
const plain = fc.constantFrom<Action>({ kind: 'prefill' }, { kind: 'saveAndLoad' });
const simpleAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: generate },
  { weight: 1, arbitrary: evaluate },
  { weight: 1, arbitrary: embed },
  { weight: 1, arbitrary: truncate },
  { weight: 1, arbitrary: plain },
);
const fork: fc.Arbitrary<Action> = fc.record({
  kind: fc.constant('fork' as const),
  actions: fc.array(simpleAction, { minLength: 1, maxLength: 2 }),
});
const action = fc.oneof({ weight: 6, arbitrary: simpleAction }, { weight: 1, arbitrary: fork });

/** A client that generates at least once. */
const client: fc.Arbitrary<Client> = fc.record({
  prompt,
  cacheSalt: fc.constantFrom('', '', 'tenant'),
  actions: fc.tuple(fc.array(action, { maxLength: 2 }), generate).map(([before, last]) => [...before, last]),
});

/** Clients at once: mostly a few, at times a crowd. */
export const clients = fc.oneof(
  { weight: 5, arbitrary: fc.array(client, { minLength: 2, maxLength: 6, size: 'max' }) },
  { weight: 1, arbitrary: fc.array(client, { minLength: 16, maxLength: 32, size: 'max' }) },
);

/** The length that `truncate` cuts back to; at least one token stays. */
export function truncatedLength(length: number, { share, toBorder }: { share: number; toBorder: boolean }): number {
  const wanted = Math.max(1, Math.floor(length * share));
  return toBorder && wanted > 32 ? wanted - (wanted % 32) : wanted;
}

/** Room that every session leaves for a generation. */
export const mostTokensBefore = tinyContextLength - 1;
