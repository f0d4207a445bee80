import { Session } from './session.ts';
import { loadSequence } from './session-file-reader.ts';
import { emptySequence, type SessionRuntime } from './session-runtime.ts';

/**
 * A session from a file that `Session.save` wrote, with what was computed of it. Idle sessions give up blocks for it, those
 * that work do not.
 *
 * @throws SessionFileError for a file of another model, another type of cache or another version, and for a damaged one
 * @throws CacheExhaustedError when too much of the cache is in use
 * @throws AbortError
 */
export async function loadSession(
  runtime: SessionRuntime,
  path: string,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Session> {
  const { executable, pool, scheduler, fingerprint, contextLength, vocabSize } = runtime;
  const sequence = await loadSequence(path, {
    cache: executable.cache,
    pool,
    fingerprint,
    contextLength,
    vocabSize,
    makeRoom: (numBlocks) => scheduler.reclaim(numBlocks),
    createSequence: (salt, anchor) => {
      const loaded = emptySequence(runtime, salt, anchor);
      runtime.sequences.add(loaded);
      return loaded;
    },
    ...(options.signal && { signal: options.signal }),
  });
  return new Session(runtime, sequence);
}
