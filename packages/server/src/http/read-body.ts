import { type LosslessJson, parseLosslessJson } from '@hearth/chat-format';
import { HearthError } from '@hearth/core';
import { ApiError } from './api-error.ts';

export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly maxBodyValues: number;
  readonly bodyTimeoutMs: number;
}

/**
 * Reads the body of a request as a JSON object, of which nothing is lost.
 *
 * @throws ApiError 415 for another content type, and for compressed bodies; 413 for too many bytes, 408 when they take too
 *   long, 400 when they are no UTF-8 or no JSON object
 * @throws the reason of `signal` when it fires
 */
export async function readJsonBody(
  request: Request,
  limits: BodyLimits,
  signal: AbortSignal,
): Promise<Record<string, LosslessJson>> {
  checkContentType(request.headers.get('content-type'));
  checkContentEncoding(request.headers.get('content-encoding'));
  const bytes = await readBytes(request, limits, signal);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiError('The body must be UTF-8, but its bytes are not.', { status: 400, code: 'invalid_body' });
  }
  const json = parse(text, limits);
  if (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    Object.getPrototypeOf(json) === Object.prototype
  ) {
    return json as Record<string, LosslessJson>;
  }
  throw new ApiError('The body must be a JSON object.', { status: 400, code: 'invalid_body' });
}

/** A form of another site can send text or form data without asking first, but not JSON. */
function checkContentType(contentType: string | null): void {
  const [type = ''] = (contentType ?? '').toLowerCase().split(/[\s;]/, 1);
  if (type === 'application/json') return;
  const shown = type ? JSON.stringify(type.slice(0, 200)) : 'absent';
  throw new ApiError(`The content type must be application/json, but it is ${shown}.`, {
    status: 415,
    code: 'unsupported_content_type',
  });
}

/** A few compressed bytes can be a body without end. */
function checkContentEncoding(contentEncoding: string | null): void {
  const encoding = (contentEncoding ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity') return;
  throw new ApiError(`The body must not be compressed, but it is ${JSON.stringify(encoding.slice(0, 200))}.`, {
    status: 415,
    code: 'unsupported_content_encoding',
  });
}

async function readBytes(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length')) > maxBodyBytes) throw tooLarge(maxBodyBytes);
  signal.throwIfAborted();
  const reader = request.body?.getReader();
  if (!reader) return new Uint8Array();
  let stop: (reason: unknown) => void = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = reject;
  });
  const timer = setTimeout(() => stop(tooSlow(bodyTimeoutMs)), bodyTimeoutMs);
  const onAbort = () => stop(signal.reason);
  signal.addEventListener('abort', onAbort);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), stopped]);
      if (done) return Buffer.concat(chunks, length);
      length += value.length;
      if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error instanceof ApiError ? error : brokenOff(error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}

// What is left of these bodies is not read, so the connection cannot carry another request.
const closing = { Connection: 'close' };

function tooLarge(maxBodyBytes: number): ApiError {
  return new ApiError(`The body has more than the ${maxBodyBytes} bytes that are allowed.`, {
    status: 413,
    code: 'body_too_large',
    headers: closing,
  });
}

function tooSlow(bodyTimeoutMs: number): ApiError {
  return new ApiError(`The body was not there after ${bodyTimeoutMs} ms.`, {
    status: 408,
    code: 'body_timeout',
    headers: closing,
  });
}

function brokenOff(cause: unknown): ApiError {
  return new ApiError('The body broke off.', { status: 400, code: 'invalid_body', headers: closing, cause });
}

function parse(text: string, { maxBodyValues }: BodyLimits): LosslessJson {
  try {
    return parseLosslessJson(text, 'body', { length: text.length, values: maxBodyValues });
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error;
    throw new ApiError(error.message, { status: 400, code: 'invalid_body', cause: error });
  }
}
