import { createHash, timingSafeEqual } from 'node:crypto';
import { InvalidArgumentError } from '@hearth/core';
import { ApiError } from './api-error.ts';
import type { CheckRequest } from './check-host.ts';

/**
 * Makes the check of keys, which come as bearer token or as x-api-key. How long it takes tells nothing of the keys: hashes
 * are compared, in constant time, and always all of them.
 *
 * @param apiKeys those that pass; without any, everybody does
 * @returns throws ApiError 401 without a key that passes
 * @throws InvalidArgumentError for a key that is empty or holds blanks, which no header would carry as they are
 */
export function createKeyCheck(apiKeys: readonly string[]): CheckRequest {
  if (apiKeys.some((key) => !/^\S+$/.test(key))) {
    throw new InvalidArgumentError(
      'apiKeys must hold keys without blanks, at least one character each, but one does not.',
      {
        details: { field: 'apiKeys' },
      },
    );
  }
  const hashes = apiKeys.map((key) => sha256(Buffer.from(key, 'utf8')));
  if (hashes.length === 0) return () => {};
  return ({ headers }) => {
    const given = [bearerToken(headers.get('authorization')), headers.get('x-api-key')];
    // Headers are read as one character a byte; a key was written in UTF-8.
    const keys = given.flatMap((key) => (key ? sha256(Buffer.from(key, 'latin1')) : []));
    if (keys.length === 0) {
      throw unauthorized('This server needs a key: send one as "Authorization: Bearer KEY" or as "x-api-key: KEY".');
    }
    let isKnown = false;
    for (const key of keys) for (const hash of hashes) isKnown = timingSafeEqual(key, hash) || isKnown;
    if (!isKnown) throw unauthorized('The key of this request is none of those that the server knows.');
  };
}

function bearerToken(authorization: string | null): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function unauthorized(message: string): ApiError {
  return new ApiError(message, {
    status: 401,
    type: 'authentication_error',
    code: 'invalid_api_key',
    headers: { 'WWW-Authenticate': 'Bearer' },
  });
}
