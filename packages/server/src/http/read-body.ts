import { type LosslessJson, parseLosslessJson } from '@hearth/chat-format';
import { HearthError } from '@hearth/core';
import { ApiError } from './api-error.ts';

export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
}

/**
 * Reads the body of a request as a JSON object, of which nothing is lost.
 *
 * @throws ApiError 415 for another content type, 413 for too many bytes, 408 when they take too long, 400 when they are no UTF-8
 *   or no JSON object
 */
export async function readJsonBody(request: Request, limits: BodyLimits): Promise<Record<string, LosslessJson>> {
  checkContentType(request.headers.get('content-type'));
  const bytes = await readBytes(request, limits);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ApiError('The body must be UTF-8, but its bytes are not.', { status: 400 });
  }
  const json = parse(text);
  if (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    Object.getPrototypeOf(json) === Object.prototype
  ) {
    return json as Record<string, LosslessJson>;
  }
  throw new ApiError('The body must be a JSON object.', { status: 400 });
}

/** A form of another site can send text or form data without asking first, but not JSON. */
function checkContentType(contentType: string | null): void {
  const [type = ''] = (contentType ?? '').toLowerCase().split(/[\s;]/, 1);
  if (type === 'application/json') return;
  throw new ApiError(
    `The content type must be application/json, but it is ${type ? JSON.stringify(type) : 'absent'}.`,
    {
      status: 415,
    },
  );
}

async function readBytes(request: Request, { maxBodyBytes, bodyTimeoutMs }: BodyLimits): Promise<Uint8Array> {
  const tooLarge = new ApiError(`The body has more than the ${maxBodyBytes} bytes that are allowed.`, {
    status: 413,
    code: 'body_too_large',
  });
  if (Number(request.headers.get('content-length')) > maxBodyBytes) throw tooLarge;
  const reader = request.body?.getReader();
  if (!reader) return new Uint8Array();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const error = new ApiError(`The body was not there after ${bodyTimeoutMs} ms.`, {
      status: 408,
      code: 'body_timeout',
    });
    timer = setTimeout(() => reject(error), bodyTimeoutMs);
  });
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), timeout]);
      if (done) return Buffer.concat(chunks, length);
      length += value.length;
      if (length > maxBodyBytes) throw tooLarge;
      chunks.push(value);
    }
  } catch (error) {
    reader.cancel().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function parse(text: string): LosslessJson {
  try {
    return parseLosslessJson(text, 'body', { length: text.length });
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error;
    throw new ApiError(error.message, { status: 400, cause: error });
  }
}
