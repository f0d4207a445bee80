import { BoundedWorker, workerUrl } from '@hearth/bounded-worker';
import { InvalidArgumentError, LimitExceededError } from '@hearth/core';
import type { LoadInput, LoadMethods } from './load-worker.ts';
import { Tokenizer } from './tokenizer.ts';
import { defaultLimits, type TokenizerLimits, type TokenizerSource } from './tokenizer-source.ts';

/** Options of `loadTokenizer`. */
export interface LoadTokenizerOptions {
  signal?: AbortSignal | undefined;
  limits?: TokenizerLimits;
}

/**
 * Loads a tokenizer from the content of `tokenizer.json` or from GGUF metadata. Parsing and building run in a worker, so
 * the event loop stays free.
 *
 * @throws InvalidModelError for damaged input, naming the place
 * @throws UnsupportedError for sound input of a kind that Hearth does not have, naming it
 * @throws LimitExceededError when the source is too large or loading takes too long; AbortError
 */
export async function loadTokenizer(source: TokenizerSource, options: LoadTokenizerOptions = {}): Promise<Tokenizer> {
  const limits = { ...defaultLimits, ...options.limits };
  const { signal } = options;
  const input = toLoadInput(source, limits.sourceSize);
  const loader = new BoundedWorker<LoadMethods>(workerUrl(import.meta.url, 'load-worker'), {
    name: 'tokenizer loader',
    init: undefined,
    timeLimitMs: limits.loadTimeMs,
    // The tables are smaller than the source they come from, apart from a few numbers for each id.
    outputLimit: limits.sourceSize * 4,
  });
  let tokenizer: Tokenizer | undefined;
  try {
    const compiled = await loader.call('load', input, { signal, transfer: transferables(input) });
    tokenizer = new Tokenizer(compiled, limits);
    await tokenizer.warmUp(signal);
    return tokenizer;
  } catch (error) {
    await tokenizer?.dispose();
    throw error;
  } finally {
    await loader.dispose();
  }
}

function toLoadInput(source: TokenizerSource, sourceSize: number): LoadInput {
  switch (source.kind) {
    case 'tokenizer-json': {
      const { json, config, eosTokenIds = [] } = source;
      checkSize('tokenizer.json', json, sourceSize);
      if (typeof config === 'string' || config instanceof Uint8Array) {
        checkSize('tokenizer_config.json', config, sourceSize);
      }
      return { kind: 'tokenizer-json', json: ownCopy(json), config, eosTokenIds };
    }
    case 'gguf': {
      const { metadata } = source;
      const entries: [string, unknown][] = metadata instanceof Map ? [...metadata] : Object.entries(metadata);
      const own = entries.filter(([key]) => key.startsWith('tokenizer.ggml.') || key === 'general.architecture');
      return { kind: 'gguf', metadata: new Map(own.map(([key, value]) => [key, withoutBuffer(value)])) };
    }
    default:
      throw new InvalidArgumentError(
        `The kind of a tokenizer source must be "tokenizer-json" or "gguf", but it is ${JSON.stringify((source as { kind: unknown }).kind)}.`,
      );
  }
}

/** A copy that can be moved to the worker; a view would drag its whole buffer along. Strings are copied when sent. */
function ownCopy(content: string | Uint8Array): string | Uint8Array<ArrayBuffer> {
  return typeof content === 'string' ? content : new Uint8Array(content);
}

/** Numbers may be views of the whole file, which would be sent along with them. */
function withoutBuffer(value: unknown): unknown {
  const isNumbers = ArrayBuffer.isView(value) && !(value instanceof DataView);
  return isNumbers ? Array.from(value as unknown as ArrayLike<number>) : value;
}

function transferables(input: LoadInput): ArrayBuffer[] {
  return input.kind === 'tokenizer-json' && typeof input.json !== 'string' ? [input.json.buffer] : [];
}

function checkSize(file: string, content: string | Uint8Array, limit: number): void {
  if (content.length <= limit) return;
  throw new LimitExceededError(
    `${file} has ${content.length} bytes or characters, but the limit is ${limit}. If it is genuine, raise limits.sourceSize.`,
    { details: { limit: 'sourceSize', file, size: content.length, sourceSize: limit } },
  );
}
