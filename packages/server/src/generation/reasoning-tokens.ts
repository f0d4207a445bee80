import { reasoningMarkers } from '@hearth/chat-format';
import type { Model } from '@hearth/engine';
import { oncePer } from './once-per.ts';

const { begin: beginMarker, end: endMarker } = reasoningMarkers;

/** The tokens of a vocabulary that have to do with the block in which a model thinks. */
export interface ReasoningTokens {
  /** `<think>`, where that is one token. */
  readonly beginId: number | undefined;
  /** `</think>`. */
  readonly endIds: readonly number[];
  /** A line feed and `</think>`, as models end a line of thought. */
  readonly endLineIds: readonly number[];
  /** Those that end any text of the model. */
  readonly endOfTextIds: readonly number[];
  /** Line feeds of one token each, by how many they are: models write them after the block. */
  readonly lineFeeds: ReadonlyMap<number, number>;
  /** Bytes of a token, one character each. */
  readonly pieceOf: (tokenId: number) => string;
  /**
   * Tokens that would complete `</think>` and go on with more than line feeds, by how many characters of it they begin with.
   */
  readonly overshooting: readonly (readonly number[])[];
}

/** The same for each request: the vocabulary is looked through once. */
export const reasoningTokensOf = oncePer(findReasoningTokens);

async function findReasoningTokens({ tokenizer }: Model): Promise<ReasoningTokens> {
  const encode = async (text: string) => [...(await tokenizer.encode(text, { addBos: false, specialTokens: 'parse' }))];
  const begin = await encode(beginMarker);
  const lineFeeds = new Map<number, number>();
  for (const text of ['\n', '\n\n']) {
    const ids = await encode(text);
    if (ids.length === 1) lineFeeds.set(ids[0]!, text.length);
  }
  const pieceOf = (tokenId: number) => Buffer.from(tokenizer.tokenBytes(tokenId)).toString('latin1');
  return {
    beginId: begin.length === 1 ? begin[0] : undefined,
    endIds: await encode(endMarker),
    endLineIds: await encode(`\n${endMarker}`),
    endOfTextIds: tokenizer.eosTokenIds,
    lineFeeds,
    pieceOf,
    overshooting: await findOvershooting(tokenizer.vocabSize, pieceOf),
  };
}

async function findOvershooting(vocabSize: number, pieceOf: (tokenId: number) => string): Promise<number[][]> {
  const found: number[][] = Array.from({ length: endMarker.length + 1 }, () => []);
  for (let id = 0; id < vocabSize; id++) {
    // Large vocabularies take tens of milliseconds, which others need not wait for.
    if (id % 8192 === 8191) await new Promise(setImmediate);
    const piece = pieceOf(id);
    for (let length = 1; length <= endMarker.length; length++) {
      const goesOn = piece.startsWith(endMarker.slice(-length)) && !/^\n{0,2}$/.test(piece.slice(length));
      if (goesOn) found[length]!.push(id);
    }
  }
  return found;
}
