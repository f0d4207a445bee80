import { type CacheDtype, InvalidArgumentError, type KvCache, numericsVersion } from '@hearth/core';
import { SessionFileError } from '../errors.ts';

/**
 * A session file, numbers little-endian:
 *
 *     magic        8 bytes
 *     version      u32
 *     headerBytes  u32
 *     header       JSON, UTF-8
 *     token ids    i32 [numTokens]
 *     blocks       [⌈numCachedTokens / blockSize⌉ · bytesPerBlock]
 *     digest       SHA-256 of everything before
 *
 * The digest tells damage, not intent: whoever can write the file can choose what the session says and computes.
 */
export interface SessionFileHeader {
  /** Of the model (`modelFingerprint`). */
  readonly fingerprint: string;
  readonly numericsVersion: number;
  readonly cacheDtype: CacheDtype;
  /** `KvCache.layout`. */
  readonly cacheLayout: string;
  readonly blockSize: number;
  readonly bytesPerBlock: number;
  readonly numTokens: number;
  readonly numCachedTokens: number;
  readonly anchor: number;
  readonly salt: string;
}

/** What a file must agree with to be loaded. */
export interface SessionFileTarget {
  readonly cache: KvCache;
  readonly fingerprint: string;
  readonly contextLength: number;
}

export const sessionFileVersion = 1;
/** Of magic, version and headerBytes. */
export const preambleBytes = 16;
export const digestBytes = 32;

const magic = 'HrthSess';
const maxHeaderBytes = 64 * 1024;
const saveAgain = 'The file is damaged: compute the session again and save it.';

/** Preamble and header. */
export function encodeHeader(header: SessionFileHeader): Uint8Array {
  const json = Buffer.from(JSON.stringify(header));
  if (json.length > maxHeaderBytes) {
    throw new InvalidArgumentError(
      `A session file has a header of at most ${maxHeaderBytes} bytes, this one takes ${json.length}. Use a shorter cacheSalt.`,
    );
  }
  const preamble = Buffer.alloc(preambleBytes);
  preamble.write(magic, 'latin1');
  preamble.writeUInt32LE(sessionFileVersion, 8);
  preamble.writeUInt32LE(json.length, 12);
  return Buffer.concat([preamble, json]);
}

/**
 * How long the header is.
 * @throws SessionFileError
 */
export function decodePreamble(path: string, preamble: Uint8Array, fileBytes: number): number {
  const bytes = Buffer.from(preamble.buffer, preamble.byteOffset, preamble.byteLength);
  const found = bytes.toString('latin1', 0, magic.length);
  if (found !== magic) {
    throw new SessionFileError(
      path,
      'format',
      `it should begin with ${JSON.stringify(magic)}, but begins with ${JSON.stringify(found)}. Give a file that was saved as a session.`,
      { expected: magic, actual: found },
    );
  }
  const version = bytes.readUInt32LE(8);
  if (version !== sessionFileVersion) {
    throw new SessionFileError(
      path,
      'version',
      `this version of Hearth reads format ${sessionFileVersion}, but the file has format ${version}. Load it with the version that saved it.`,
      { expected: sessionFileVersion, actual: version },
    );
  }
  const headerBytes = bytes.readUInt32LE(12);
  const most = Math.min(maxHeaderBytes, fileBytes - preambleBytes - digestBytes);
  if (headerBytes > most) {
    throw new SessionFileError(
      path,
      'header',
      `its header can have at most ${most} bytes, but is said to have ${headerBytes}. ${saveAgain}`,
      { expected: most, actual: headerBytes },
    );
  }
  return headerBytes;
}

/**
 * Reads the header and holds every number of it against the model, the cache and the size of the file.
 * @throws SessionFileError
 */
export function decodeHeader(
  path: string,
  json: Uint8Array,
  fileBytes: number,
  target: SessionFileTarget,
): SessionFileHeader {
  const header = parseHeader(path, json);
  const { cache } = target;
  const mustBe = (
    check: 'numerics' | 'cache_dtype' | 'cache_layout' | 'model',
    what: string,
    expected: unknown,
    actual: unknown,
    advice: string,
  ) => {
    if (expected === actual) return;
    throw new SessionFileError(path, check, `${what} should be ${expected}, but is ${actual}. ${advice}`, {
      expected,
      actual,
    });
  };
  const sameVersion = 'Compute the session again, or load it with the version that saved it.';
  // Types and versions are part of the fingerprint too: looked at first, they make for a better answer.
  mustBe('numerics', 'its numerics version', numericsVersion, header.numericsVersion, sameVersion);
  mustBe('cache_dtype', 'its cacheDtype', cache.dtype, header.cacheDtype, 'Load the model with that cacheDtype.');
  mustBe(
    'model',
    'the fingerprint of its model',
    target.fingerprint,
    header.fingerprint,
    'Load the model that it is of.',
  );
  const sameBackend = 'Use the backend and the version that saved it, or compute the session again.';
  mustBe('cache_layout', 'the layout of its blocks', cache.layout, header.cacheLayout, sameBackend);
  mustBe('cache_layout', 'its block size', cache.blockSize, header.blockSize, sameBackend);
  mustBe('cache_layout', 'the bytes of its blocks', cache.bytesPerBlock, header.bytesPerBlock, sameBackend);
  if (header.numTokens > target.contextLength) {
    throw new SessionFileError(
      path,
      'tokens',
      `it has ${header.numTokens} tokens, but the context holds ${target.contextLength}. Load the model with a larger contextLength.`,
      { expected: target.contextLength, actual: header.numTokens },
    );
  }
  const expectedBytes = preambleBytes + json.length + bodyBytes(header) + digestBytes;
  if (fileBytes !== expectedBytes) {
    throw new SessionFileError(
      path,
      'size',
      `its header calls for ${expectedBytes} bytes, but it has ${fileBytes}. It was cut off or added to: save the session again.`,
      { expected: expectedBytes, actual: fileBytes },
    );
  }
  return header;
}

/** How many blocks the file holds. */
export function numStoredBlocks({ numCachedTokens, blockSize }: SessionFileHeader): number {
  return Math.ceil(numCachedTokens / blockSize);
}

function bodyBytes(header: SessionFileHeader): number {
  return header.numTokens * Int32Array.BYTES_PER_ELEMENT + numStoredBlocks(header) * header.bytesPerBlock;
}

function parseHeader(path: string, json: Uint8Array): SessionFileHeader {
  const fail = (problem: string, cause?: unknown) =>
    new SessionFileError(path, 'header', `${problem} ${saveAgain}`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (cause) {
    throw fail('its header should be JSON, but is not.', cause);
  }
  const fields = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const text = (key: keyof SessionFileHeader): string => {
    const field = fields[key];
    if (typeof field !== 'string') throw fail(`its header should have a text "${key}".`);
    return field;
  };
  const number = (key: keyof SessionFileHeader, least: number, most: number): number => {
    const field = fields[key];
    if (!Number.isSafeInteger(field) || (field as number) < least || (field as number) > most) {
      throw fail(`its header should have a whole number "${key}" from ${least} to ${most}.`);
    }
    return field as number;
  };
  const most = Number.MAX_SAFE_INTEGER;
  const numTokens = number('numTokens', 0, most);
  return {
    fingerprint: text('fingerprint'),
    numericsVersion: number('numericsVersion', 0, most),
    cacheDtype: text('cacheDtype') as CacheDtype,
    cacheLayout: text('cacheLayout'),
    blockSize: number('blockSize', 1, most),
    bytesPerBlock: number('bytesPerBlock', 1, most),
    numTokens,
    numCachedTokens: number('numCachedTokens', 0, numTokens),
    anchor: number('anchor', 0, numTokens),
    salt: text('salt'),
  };
}
