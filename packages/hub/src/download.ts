import path from 'node:path';
import { AbortError, throwIfAborted } from '@hearth/core';
import type { Response } from 'undici';
import type { Digest } from './digest.ts';
import { asDiskFullError, ensureDiskSpace } from './disk-space.ts';
import { ChecksumError, DownloadError } from './errors.ts';
import { describeFetchError, statusError } from './fetch-error.ts';
import { discardBody, type HttpClient } from './http-client.ts';
import { PartFile, type PartOrigin } from './part-file.ts';
import { ifRangeValue, interpretAnswer } from './range-response.ts';
import { redactUrl } from './redact.ts';
import { waitBeforeRetry } from './retry.ts';
import type { RetryPolicy, Timeouts } from './settings.ts';

/** One file to fetch. */
export interface DownloadRequest {
  url: string | URL;
  /** Sent to the URL's own origin only; a redirect elsewhere loses `authorization`. */
  headers?: Readonly<Record<string, string>>;
  /** Final path. `NAME.part` and `NAME.part.json` lie beside it meanwhile. */
  destination: string;
  /** Exact size, where it is known. */
  sizeBytes?: number | undefined;
  /** Nothing larger is taken, whatever the server says. */
  maxBytes: number;
  digests: readonly Digest[];
}

/** What a download works with. */
export interface DownloadContext {
  http: HttpClient;
  retry: RetryPolicy;
  timeouts: Timeouts;
  signal?: AbortSignal | undefined;
  onBytes?: (completedBytes: number, totalBytes: number | undefined) => void;
}

/**
 * An attempt that brought at least this much is not counted as failed: a large file over a poor line may take hundreds of
 * attempts, while a server that hands out a few bytes per connection is given up on. 1 MiB.
 */
const REAL_PROGRESS_BYTES = 1024 * 1024;

/**
 * Fetches one file, resuming what an earlier run left, and renames it to its final name only when size and digests are
 * right. On failure the part stays for the next run, except after a wrong checksum or a body that is too long.
 *
 * @throws DownloadError, AccessDeniedError, ChecksumError, DiskFullError, AbortError
 */
export async function downloadFile(
  request: DownloadRequest,
  context: DownloadContext,
): Promise<{ sha256: string; sizeBytes: number }> {
  const { digests, sizeBytes, destination } = request;
  const part = await PartFile.open(destination, identityOf(request), digests, sizeBytes, context.signal);
  try {
    return await new Download(request, context, part).run();
  } catch (error) {
    throw await asDiskFullError(error, path.dirname(destination), (sizeBytes ?? part.size) - part.size);
  } finally {
    await part.close();
  }
}

class Download {
  readonly #request: DownloadRequest;
  readonly #context: DownloadContext;
  readonly #part: PartFile;
  /** Cleared when the server has answered a Range wrongly once. */
  #mayResume = true;
  /** The part was put together from several answers, perhaps of an earlier run. */
  #joined: boolean;
  /** The server has answered at least once in this run. */
  #answered = false;

  constructor(request: DownloadRequest, context: DownloadContext, part: PartFile) {
    this.#request = request;
    this.#context = context;
    this.#part = part;
    this.#joined = part.size > 0;
  }

  async run(): Promise<{ sha256: string; sizeBytes: number }> {
    for (;;) {
      await this.#fetchWithRetries();
      const { sha256, mismatch } = this.#part.verify();
      if (!mismatch) {
        const sizeBytes = this.#part.size;
        await this.#part.commit();
        return { sha256, sizeBytes };
      }
      if (this.#joined) {
        // The pieces may not belong together; the file gets one chance in one piece.
        this.#joined = false;
        this.#mayResume = false;
        await this.#part.restart();
        continue;
      }
      await this.#part.discard();
      throw new ChecksumError(
        `${redactUrl(this.#request.url)} has the wrong ${mismatch.algorithm}`,
        mismatch.expected,
        mismatch.actual,
        'The bytes were thrown away. The file on the server is damaged or was replaced; try another source or revision.',
      );
    }
  }

  /** Returns when every byte is in the part. */
  async #fetchWithRetries(): Promise<void> {
    const { retry, signal } = this.#context;
    let failures = 0;
    let furthest = this.#part.size;
    while (!(this.#request.sizeBytes !== undefined && this.#part.size === this.#request.sizeBytes)) {
      throwIfAborted(signal);
      try {
        await this.#fetchOnce();
        return;
      } catch (error) {
        if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
        if (!(error instanceof DownloadError) || !error.transient) throw error;
        if (error.unreachable && !this.#answered) throw error;
        if (this.#part.size >= furthest + REAL_PROGRESS_BYTES) {
          furthest = this.#part.size;
          failures = 0;
        }
        failures++;
        if (failures >= retry.attempts) throw this.#givenUp(error, failures);
        await waitBeforeRetry(failures, retry, signal);
      }
    }
  }

  async #fetchOnce(): Promise<void> {
    const part = this.#part;
    if (!this.#mayResume && part.size > 0) {
      await part.restart();
      this.#joined = false;
    }
    const offset = part.size;
    const response = await this.#ask(offset);
    const verdict = interpretAnswer(response, offset, part.origin);
    if (verdict.action === 'complete') return discardBody(response);
    if (verdict.action === 'ask-for-all') {
      await discardBody(response);
      if (offset === 0) throw new DownloadError(`${this.#shownUrl}: ${verdict.reason}.`);
      this.#mayResume = false;
      return this.#fetchOnce();
    }
    if (verdict.action === 'replace' && offset > 0) {
      await part.restart();
      this.#joined = false;
    }

    if (verdict.action === 'append') this.#joined = true;
    try {
      const totalBytes = this.#checkTotal(verdict.totalBytes);
      await ensureDiskSpace(path.dirname(part.finalPath), (totalBytes ?? 0) - part.size);
      await part.describe(this.#originOf(response, totalBytes));
      await this.#readBody(response, totalBytes);
    } catch (error) {
      await discardBody(response);
      throw error;
    }
  }

  async #ask(offset: number): Promise<Response> {
    const { url, headers } = this.#request;
    const { origin } = this.#part;
    const ifRange = origin.url === this.#shownUrl ? ifRangeValue(origin) : undefined;
    const response = await this.#context.http.fetch(url, {
      headers: {
        ...headers,
        // A compressed body has other offsets than the file.
        'accept-encoding': 'identity',
        ...(offset > 0 ? { range: `bytes=${offset}-` } : {}),
        ...(offset > 0 && ifRange ? { 'if-range': ifRange } : {}),
      },
      ...(this.#context.signal ? { signal: this.#context.signal } : {}),
    });
    this.#answered = true;
    const { status } = response;
    if (status === 200 || (offset > 0 && (status === 206 || status === 416))) return response;
    await discardBody(response);
    throw statusError(status, this.#shownUrl);
  }

  /** A size that differs from the known one is found before a single byte is written. */
  #checkTotal(declared: number | undefined): number | undefined {
    const { sizeBytes, maxBytes } = this.#request;
    if (sizeBytes !== undefined && declared !== undefined && declared !== sizeBytes) {
      throw new DownloadError(
        `${this.#shownUrl} offers ${declared} bytes, but the file has ${sizeBytes}. It is another file, or a page in its place.`,
        { details: { url: this.#shownUrl, expectedBytes: sizeBytes, declaredBytes: declared } },
      );
    }
    const total = sizeBytes ?? declared;
    if (total !== undefined && total > maxBytes) throw this.#tooLarge(maxBytes);
    return total;
  }

  async #readBody(response: Response, totalBytes: number | undefined): Promise<void> {
    const { signal, onBytes } = this.#context;
    const part = this.#part;
    const limit = totalBytes ?? this.#request.maxBytes;
    onBytes?.(part.size, totalBytes);
    for await (const chunk of this.#chunksOf(response)) {
      throwIfAborted(signal);
      if (part.size + chunk.byteLength > limit) {
        await part.discard();
        throw this.#tooLarge(limit);
      }
      await part.append(chunk);
      onBytes?.(part.size, totalBytes);
    }
    if (totalBytes !== undefined && part.size < totalBytes) {
      throw new DownloadError(`${this.#shownUrl} ended after ${part.size} of ${totalBytes} bytes.`, {
        transient: true,
      });
    }
  }

  /** The body, with errors of the connection told apart from errors of whoever consumes it. */
  async *#chunksOf(response: Response): AsyncGenerator<Uint8Array> {
    const reader = response.body?.getReader();
    if (!reader) return;
    try {
      for (;;) {
        const { value, done } = await reader.read().catch((error) => {
          throw describeFetchError(error, this.#request.url, this.#context.timeouts);
        });
        if (done) return;
        yield value as Uint8Array;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  #originOf(response: Response, totalBytes: number | undefined): PartOrigin {
    return {
      identity: this.#part.origin.identity,
      url: this.#shownUrl,
      etag: response.headers.get('etag') ?? undefined,
      lastModified: response.headers.get('last-modified') ?? undefined,
      sizeBytes: totalBytes,
    };
  }

  get #shownUrl(): string {
    return redactUrl(this.#request.url);
  }

  #tooLarge(limit: number): DownloadError {
    return new DownloadError(
      `${this.#shownUrl} sends more than the ${limit} bytes that were expected; it was stopped there.`,
      {
        details: { url: this.#shownUrl, limit },
      },
    );
  }

  #givenUp(error: DownloadError, failures: number): DownloadError {
    return new DownloadError(
      `${error.message} Gave up after ${failures} attempts; ${this.#part.size} bytes are kept and will be resumed next time.`,
      { cause: error, details: { ...error.details, keptBytes: this.#part.size } },
    );
  }
}

/** Parts are joined only when they are of the same file: same checksum, or the same address where none is known. */
function identityOf({ digests, url }: DownloadRequest): string {
  const [digest] = digests;
  return digest ? `${digest.algorithm}:${digest.hex}` : redactUrl(url);
}
