import { BoundedWorker, workerUrl } from '@hearth/bounded-worker';
import { DisposedError, InvalidArgumentError, LimitExceededError } from '@hearth/core';
import type { CompiledTokenizer, EncoderTables } from './compile/compiled-tokenizer.ts';
import { createDetokenizer, type DecodeOptions, type Detokenizer, decode } from './decode/detokenizer.ts';
import { TokenBytes } from './decode/token-bytes.ts';
import type { AddBos, Segment } from './encode/encoder.ts';
import type { EncodeMethods } from './encode-worker.ts';
import type { TokenizerLimits } from './tokenizer-source.ts';

/** A token that controls the model, such as `<|im_start|>`. */
export interface SpecialToken {
  id: number;
  content: string;
}

/** Options of encoding a text. */
export interface EncodeOptions {
  /**
   * What special tokens in the text are. `text` (default): plain text like everything else, for text that other people
   * wrote. `parse`: control tokens, for prompts that are written for the model.
   */
  specialTokens?: 'text' | 'parse';
  /** Puts the BOS token first unless the ids begin with it already. `auto` (default): as the model was trained. */
  addBos?: AddBos;
  signal?: AbortSignal | undefined;
}

/** Options of encoding a rendered chat. */
export type EncodeSegmentsOptions = Pick<EncodeOptions, 'addBos' | 'signal'>;

/** Ids per UTF-16 unit are at most three (three bytes, each its own token), and an id has four bytes. */
const outputBytesPerUnit = 12;

/**
 * Text to token ids and back. Encoding runs in a worker of its own, one text after the other; decoding is a table look-up
 * and runs here. Made by `loadTokenizer`; dispose it to end the worker.
 */
export class Tokenizer {
  /** One more than the largest id. The model may have more rows; those beyond have no text. */
  readonly vocabSize: number;
  readonly bosTokenId: number | undefined;
  /** Ids after which a text or a turn is over; may be empty. */
  readonly eosTokenIds: readonly number[];
  /** Whether `addBos: 'auto'` adds the BOS token. */
  readonly addsBos: boolean;
  readonly specialTokens: readonly SpecialToken[];
  /** SHA-256 of the tokenizer's tables: equal when two tokenizers encode and decode alike. */
  readonly fingerprint: string;
  readonly #tokens: TokenBytes;
  readonly #limits: Readonly<Required<TokenizerLimits>>;
  readonly #worker: BoundedWorker<EncodeMethods, EncoderTables>;
  #isDisposed = false;

  /** Use `loadTokenizer`. */
  constructor(compiled: CompiledTokenizer, limits: Readonly<Required<TokenizerLimits>>) {
    const { encoder } = compiled;
    this.vocabSize = compiled.vocabularySize;
    this.bosTokenId = encoder.bosTokenId;
    this.eosTokenIds = compiled.eosTokenIds;
    this.addsBos = encoder.addBos;
    this.specialTokens = encoder.addedTokens
      .filter((token) => token.special)
      .map(({ id, content }) => ({ id, content }))
      .sort((a, b) => a.id - b.id);
    this.fingerprint = compiled.fingerprint;
    this.#tokens = new TokenBytes(compiled.decoder);
    this.#limits = limits;
    this.#worker = new BoundedWorker(workerUrl(import.meta.url, 'encode-worker'), {
      name: 'tokenizer',
      init: encoder,
      timeLimitMs: limits.encodeTimeMs,
      outputLimit: limits.textLength * outputBytesPerUnit,
      startLimitMs: limits.loadTimeMs,
    });
  }

  /** Starts the worker ahead of the first encoding. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    await this.#worker.call('ready', undefined, { signal, timeLimitMs: this.#limits.loadTimeMs });
  }

  /**
   * Ids of a text.
   *
   * @throws LimitExceededError when the text is too long or takes too long, AbortError, DisposedError
   */
  async encode(text: string, options: EncodeOptions = {}): Promise<Int32Array<ArrayBuffer>> {
    const { specialTokens = 'text', addBos = 'auto', signal } = options;
    if (specialTokens !== 'text' && specialTokens !== 'parse') {
      throw new InvalidArgumentError(
        `specialTokens must be "text" or "parse", but it is ${JSON.stringify(specialTokens)}.`,
      );
    }
    this.#checkLength(checkString(text, 'text').length);
    return this.#worker.call('encode', { text, parseSpecial: specialTokens === 'parse', addBos }, { signal });
  }

  /**
   * Ids of a rendered chat: `text` segments are plain text, whatever is in them, and `control` segments are special tokens
   * by their literal. Neighbouring texts are encoded as one.
   *
   * @throws InvalidArgumentError for a control literal that is no special token; otherwise as `encode`
   */
  async encodeSegments(
    segments: readonly Segment[],
    options: EncodeSegmentsOptions = {},
  ): Promise<Int32Array<ArrayBuffer>> {
    const { addBos = 'auto', signal } = options;
    let length = 0;
    segments.forEach((segment, index) => {
      const place = `segments[${index}]`;
      const isText = 'text' in segment;
      length += checkString(isText ? segment.text : segment.control, `${place}.${isText ? 'text' : 'control'}`).length;
    });
    this.#checkLength(length);
    return this.#worker.call('encodeSegments', { segments, addBos }, { signal });
  }

  /** Text of ids. Bytes that are no valid UTF-8 become U+FFFD; ids without a token, such as padding, become nothing. */
  decode(ids: ArrayLike<number>, options: DecodeOptions = {}): string {
    this.#checkOpen();
    return decode(this.#tokens, ids, options);
  }

  /** Text of ids as they come, one by one, never with half a character. */
  createDetokenizer(options: DecodeOptions = {}): Detokenizer {
    this.#checkOpen();
    return createDetokenizer(this.#tokens, options);
  }

  /** Bytes of text that one id adds, as a copy: not always whole characters. Empty for ids without a token. */
  tokenBytes(id: number): Uint8Array<ArrayBuffer> {
    this.#checkOpen();
    return this.#tokens.bytesOf(id).slice();
  }

  /** Whether the id is a special token. Ids without a token are not. */
  isSpecial(id: number): boolean {
    this.#checkOpen();
    return this.#tokens.isSpecial(id);
  }

  /** Ends the worker; open encodings reject with `DisposedError`. Safe at any moment and as often as you like. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await this.#worker.dispose();
  }

  #checkOpen(): void {
    if (this.#isDisposed) throw new DisposedError('tokenizer');
  }

  #checkLength(length: number): void {
    if (length <= this.#limits.textLength) return;
    throw new LimitExceededError(
      `The text has ${length} UTF-16 units, but the limit is ${this.#limits.textLength}. Shorten it or raise limits.textLength.`,
      { details: { limit: 'textLength', length, textLength: this.#limits.textLength } },
    );
  }
}

function checkString(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw new InvalidArgumentError(`${name} must be a string, but it is ${value === null ? 'null' : typeof value}.`);
}
