import type { ChatMessage } from '@hearth/chat-format';
import { DisposedError } from '@hearth/core';
import type { Tokenizer } from '@hearth/tokenizer';
import { type ChatFormat, type ModelChatTemplate, type RenderChatOptions, renderChat } from '../chat/render-chat.ts';
import { type EmbedOptions, embedTokens } from '../session/embed-tokens.ts';
import { loadSession } from '../session/load-session.ts';
import { type CreateSessionOptions, Session } from '../session/session.ts';
import { checkBlockIntegrity, type SessionRuntime } from '../session/session-runtime.ts';
import { disposeAll } from './dispose-all.ts';
import type { ModelInfo } from './model-info.ts';
import { type ModelStats, modelStats } from './model-stats.ts';

/** The public face of a tokenizer, so that tests can have one without a worker. */
export type ModelTokenizer = Pick<Tokenizer, keyof Tokenizer>;

/** What a model is put together from. It owns all of them. */
export interface ModelParts {
  readonly info: ModelInfo;
  readonly tokenizer: ModelTokenizer;
  readonly chatFormat: ChatFormat;
  readonly warnings: readonly string[];
  readonly runtime: SessionRuntime;
  /** Frees everything behind the runtime (executable, weights, ...), one after the other. */
  readonly disposers: readonly (() => Promise<void>)[];
}

/** A loaded model. Any number of sessions may be open; they share its weights and its cache. */
export class Model {
  readonly info: ModelInfo;
  readonly tokenizer: ModelTokenizer;
  /** Null when the model has none that works; `renderChat` then throws the reason. */
  readonly chatTemplate: ModelChatTemplate | null;
  /** What a user should know about the files, a sentence each. */
  readonly warnings: readonly string[];
  readonly #chatFormat: ChatFormat;
  readonly #runtime: SessionRuntime;
  readonly #disposers: readonly (() => Promise<void>)[];
  #disposing: Promise<void> | undefined;

  /** Made by `loadModel`. */
  constructor(parts: ModelParts) {
    this.info = parts.info;
    this.tokenizer = parts.tokenizer;
    this.chatTemplate = parts.chatFormat.template;
    this.warnings = parts.warnings;
    this.#chatFormat = parts.chatFormat;
    this.#runtime = parts.runtime;
    this.#disposers = parts.disposers;
  }

  get isDisposed(): boolean {
    return this.#disposing !== undefined;
  }

  /**
   * A new sequence of tokens. It takes cache blocks only when it computes.
   * @throws ContextLengthError | InvalidArgumentError for tokens that do not fit or make no sense
   */
  createSession(options?: CreateSessionOptions): Session {
    this.#checkOpen();
    return new Session(this.#runtime, options);
  }

  /**
   * The embedding of a text: the mean over all its positions of the hidden rows after the final norm (what the head reads),
   * of Euclidean length 1, [hiddenSize]. It shares the steps with everything else, and has the same bits whatever that is. What
   * else has computed of the text is of no use to it, as the cache does not hold these rows.
   *
   * @throws InvalidArgumentError when there is no token, for ids outside the vocabulary, and for options that make no sense
   * @throws ContextLengthError when they are more than a session may have
   * @throws QueueFullError | CacheExhaustedError as `Session.generate`
   * @throws DeadlineError | AbortError | DisposedError | NumericError
   */
  async embed(tokenIds: ArrayLike<number>, options: EmbedOptions = {}): Promise<Float32Array> {
    this.#checkOpen();
    return embedTokens(this.#runtime, tokenIds, options);
  }

  /** Whether a session is one of this model: token ids mean nothing to another. */
  owns(session: Session): boolean {
    return session.belongsTo(this.#runtime);
  }

  /**
   * A session from a file that `Session.save` wrote: it goes on where it was, without computing its tokens again. Idle
   * sessions give up blocks of the cache for it.
   *
   * @throws SessionFileError for a file of another model, another type of cache or another version, and for a damaged one
   * @throws CacheExhaustedError when sessions that work have too much of the cache
   * @throws AbortError | DisposedError
   */
  async loadSession(path: string, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Session> {
    this.#checkOpen();
    const session = await loadSession(this.#runtime, path, options);
    if (!this.#disposing) return session;
    await session.dispose();
    throw new DisposedError('model');
  }

  /** What runs and waits, what the cache holds, and what the steps have done and taken: numbers of this moment. */
  stats(): ModelStats {
    return modelStats(this.#runtime);
  }

  /**
   * Checks that every block of the cache is free, cached, or in the tables of as many sessions as are counted for it.
   * @throws Error naming the first block that is not: a mistake of the engine
   */
  checkIntegrity(): void {
    checkBlockIntegrity(this.#runtime);
  }

  /**
   * The token ids of a conversation, ready to be generated from: with the start token once where the model was trained with
   * one, and with words in the messages that look like control tokens as plain text. Ends with the beginning of the
   * assistant's turn unless told otherwise.
   *
   * @throws NoChatTemplateError when the model has none, InvalidModelError when it does not parse
   * @throws TemplateError when the template refuses the messages; InvalidArgumentError, LimitExceededError, AbortError
   */
  async renderChat(messages: readonly ChatMessage[], options: RenderChatOptions = {}): Promise<Int32Array> {
    this.#checkOpen();
    return renderChat(this.#chatFormat, this.tokenizer, messages, options);
  }

  /**
   * Frees the model. Running generations end with a `DisposedError`; sessions cannot be used afterwards. Safe at any
   * moment and as often as you like; resolves when the memory is free.
   */
  dispose(): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    const reason = new DisposedError('model');
    await Promise.all([...this.#runtime.sessions].map((end) => end(reason)));
    await this.#runtime.loop.idle();
    await disposeAll([...this.#disposers, () => this.tokenizer.dispose(), async () => this.chatTemplate?.dispose()]);
  }

  #checkOpen(): void {
    if (this.#disposing) throw new DisposedError('model');
  }
}
