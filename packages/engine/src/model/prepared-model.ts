import type { ChatMessage } from '@hearth/chat-format';
import type { Checkpoint } from '@hearth/checkpoint';
import {
  AbortError,
  type Backend,
  type CacheDtype,
  DisposedError,
  type Executable,
  InvalidArgumentError,
  InvalidModelError,
  numericsVersion,
  throwIfAborted,
  type WeightSource,
  type Weights,
} from '@hearth/core';
import type { Model as ModelDefinition } from '@hearth/models';
import { resolveSpeculation } from '@hearth/speculative';
import { type ChatFormat, type ModelChatTemplate, type RenderChatOptions, renderChat } from '../chat/render-chat.ts';
import { checkTokens } from '../session/check-tokens.ts';
import { createSessionRuntime } from '../session/session-runtime.ts';
import { Work } from '../session/work.ts';
import { disposeAll } from './dispose-all.ts';
import { modelFingerprint } from './fingerprint.ts';
import {
  blockSize,
  cacheBytesPerToken,
  type LoadWeightsOptions,
  numCacheBlocks,
  resolveLoadWeightsOptions,
} from './load-options.ts';
import { Model, type ModelTokenizer } from './model.ts';
import { kvBytesPerToken, type ModelHeader, type ModelInfo } from './model-info.ts';
import { packedCacheOf } from './packed-cache.ts';
import { type Recodings, recodedSources } from './recodings.ts';

export interface PreparedModelParts {
  readonly backend: Backend;
  readonly checkpoint: Checkpoint;
  readonly definition: ModelDefinition;
  /** As they are stored. */
  readonly sources: ReadonlyMap<string, WeightSource>;
  readonly recodings: Recodings;
  readonly tokenizer: ModelTokenizer;
  readonly chatFormat: ChatFormat;
  readonly eosTokenIds: ReadonlySet<number>;
  readonly header: ModelHeader;
}

/** A model whose weights are not loaded: it can encode, render and refuse. */
export class PreparedModel {
  readonly info: ModelHeader;
  readonly tokenizer: ModelTokenizer;
  /** Null when the model has none that works; `renderChat` then throws the reason. */
  readonly chatTemplate: ModelChatTemplate | null;
  /** config.json of the model, or the same made from GGUF metadata. */
  readonly config: Readonly<Record<string, unknown>>;
  /** generation_config.json, when there is one. */
  readonly generationConfig: Readonly<Record<string, unknown>> | undefined;
  /** Tokens that end a generation. */
  readonly eosTokenIds: ReadonlySet<number>;
  /** What a user should know about the files, a sentence each. */
  readonly warnings: readonly string[];
  readonly #parts: PreparedModelParts;
  /** The load that runs or has run; a failed one leaves nothing. */
  #load: { readonly work: Work; readonly model: Promise<Model> } | undefined;
  #disposing: Promise<void> | undefined;

  /** Made by `prepareModel`. */
  constructor(parts: PreparedModelParts) {
    this.#parts = parts;
    this.info = parts.header;
    this.tokenizer = parts.tokenizer;
    this.chatTemplate = parts.chatFormat.template;
    this.config = parts.checkpoint.config;
    this.generationConfig = parts.checkpoint.generationConfig;
    this.eosTokenIds = parts.eosTokenIds;
    this.warnings = [...parts.checkpoint.warnings, ...templateWarnings(parts.chatFormat)];
  }

  /** As `Model.renderChat`. */
  async renderChat(messages: readonly ChatMessage[], options: RenderChatOptions = {}): Promise<Int32Array> {
    this.#checkOpen();
    return renderChat(this.#parts.chatFormat, this.tokenizer, messages, options);
  }

  /**
   * Checks that a prompt can be generated from: there is at least one token, all are in the vocabulary, and at least one
   * more fits after them.
   * @throws InvalidArgumentError | ContextLengthError
   */
  checkPrompt(tokenIds: ArrayLike<number>): void {
    if (tokenIds.length === 0) throw new InvalidArgumentError('The prompt is empty: it has no tokens to continue.');
    // The token that follows counts: its position must exist.
    checkTokens(tokenIds, 1, this.info);
  }

  /** Bytes that a position takes in a cache of this type, for whoever divides memory between models. */
  cacheBytesPerToken(cacheDtype: CacheDtype = 'f16'): number {
    return cacheBytesPerToken(this.#parts.definition.createProgram().cacheLayers, cacheDtype);
  }

  /**
   * Loads the weights. The model then owns tokenizer and template, and the files are closed. When it fails, it can be
   * tried again.
   *
   * @throws InvalidModelError | InvalidArgumentError | UnsupportedError | AbortError
   * @throws DisposedError when this object is disposed while it loads
   */
  async loadWeights(options: LoadWeightsOptions = {}): Promise<Model> {
    this.#checkOpen();
    if (this.#load) throw new InvalidArgumentError('The weights of this prepared model are being loaded, or were.');
    const resolved = resolveLoadWeightsOptions(options, this.#parts.backend, this.info.contextLength);
    const work = new Work(options);
    const model = this.#loadModel(resolved, work, options.onProgress);
    this.#load = { work, model };
    try {
      return await model;
    } catch (error) {
      this.#load = undefined;
      throw work.reasonFor(error);
    } finally {
      work.end();
    }
  }

  /** Stops a load that runs and frees everything. Once the model is loaded it does nothing: dispose of the model. */
  dispose(): Promise<void> {
    this.#disposing ??= (async () => {
      this.#load?.work.stop(new DisposedError('prepared model'));
      const isLoaded = await this.#load?.model.then(
        () => true,
        () => false,
      );
      if (isLoaded) return;
      const { tokenizer, chatFormat, checkpoint } = this.#parts;
      await disposeAll([
        () => tokenizer.dispose(),
        async () => chatFormat.template?.dispose(),
        () => checkpoint.close(),
      ]);
    })();
    return this.#disposing;
  }

  async #loadModel(
    options: ReturnType<typeof resolveLoadWeightsOptions>,
    { signal }: Work,
    onProgress: LoadWeightsOptions['onProgress'],
  ): Promise<Model> {
    const { backend, checkpoint, definition, sources, recodings, tokenizer, chatFormat, eosTokenIds } = this.#parts;
    const { cacheDtype, maxTokensPerStep, maxOutputRows, packedCache, ownsBackend, speculation } = options;
    let weights: Weights | undefined;
    let executable: Executable | undefined;
    try {
      throwIfAborted(signal);
      const speculationTarget = { info: this.info, tokenizer };
      if (speculation) resolveSpeculation(speculation, speculationTarget);
      const fingerprint = await modelFingerprint(
        checkpoint,
        { recodings, ropes: definition.graph.ropes, cacheDtype },
        signal,
      );
      weights = await backend.loadWeights(definition.weights, recodedSources(sources, recodings, backend, signal), {
        signal,
        onProgress: (progress) => onProgress?.({ phase: 'weights', ...progress }),
        packedCache: packedCache && packedCacheOf(checkpoint, recodings, packedCache),
      });
      const program = definition.createProgram();
      const numBlocks = numCacheBlocks(options, program.cacheLayers);
      executable = await backend.compile(program, weights, {
        maxTokens: maxTokensPerStep,
        maxOutputRows,
        cache: { dtype: cacheDtype, blockSize, numBlocks },
      });
      throwIfAborted(signal);
      await checkpoint.close();
      const runtime = createSessionRuntime(executable, {
        contextLength: this.info.contextLength,
        eosTokenIds,
        fingerprint,
        ...options,
        speculationTarget,
        weightDtypes: program.weights.map(({ name }) => recodings.get(name) ?? sources.get(name)!.dtype),
        samplesInStep: backend.info.canSampleInStep,
        // A completion goes on from the prompt, so a blank at its start is a blank.
        createDetokenizer: (keepSpecialTokens) =>
          tokenizer.createDetokenizer({ skipSpecialTokens: true, keepSpecialTokens, isStart: false }),
      });
      const info: ModelInfo = {
        ...this.info,
        fingerprint,
        numericsVersion,
        packedBytes: weights.packedBytes,
        sourceBytes: weights.sourceBytes,
        weightsFromCache: weights.isFromCache === true,
        cacheDtype,
        kvBytesPerToken: kvBytesPerToken(program.cacheLayers, cacheDtype),
        kvBytes: numBlocks * executable.cache.bytesPerBlock,
        cacheTokens: numBlocks * blockSize,
        backend: backend.info,
      };
      // In this order: an executable uses its weights, and both their backend.
      const owned = [executable, weights, ...(ownsBackend ? [backend] : [])];
      const disposers = owned.map((resource) => () => resource.dispose());
      return new Model({ info, tokenizer, chatFormat, warnings: this.warnings, runtime, disposers });
    } catch (error) {
      await disposeAll([async () => executable?.dispose(), async () => weights?.dispose()]).catch(() => {});
      throw signal.aborted && !(error instanceof AbortError) ? new AbortError(undefined, { cause: error }) : error;
    }
  }

  #checkOpen(): void {
    if (this.#disposing) throw new DisposedError('prepared model');
  }
}

/** That there is no template is nothing to warn of; that there is one and it is broken is. */
function templateWarnings({ problem }: ChatFormat): string[] {
  return problem instanceof InvalidModelError
    ? [`The chat template does not work, so this model takes no chat messages: ${problem.message}`]
    : [];
}
