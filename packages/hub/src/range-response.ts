import type { PartOrigin } from './part-file.ts';

/** The parts of an answer that say which bytes its body holds. */
export interface RangeAnswer {
  status: number;
  headers: { get(name: string): string | null };
}

/** What to do with an answer to a request for the bytes from `offset` on. */
export type RangeVerdict =
  /** The body continues the part. */
  | { action: 'append'; totalBytes: number | undefined }
  /** The body is the whole file: empty the part first. */
  | { action: 'replace'; totalBytes: number | undefined }
  /** Nothing is missing. */
  | { action: 'complete' }
  /** The answer cannot be joined to the part: ask again for the whole file, without a Range. */
  | { action: 'ask-for-all'; reason: string };

/**
 * Decides whether the body of a 200, 206 or 416 may be joined to the `offset` bytes that are already there (RFC 9110,
 * sections 13.1.5, 14 and 15.5.17). Servers are not trusted to follow it: some ignore Range or If-Range, some send another
 * range than they were asked for.
 */
export function interpretAnswer(answer: RangeAnswer, offset: number, known: Readonly<PartOrigin>): RangeVerdict {
  const { status, headers } = answer;
  if (status === 416) {
    const total = /^bytes \*\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1];
    const isWhole = total !== undefined && Number(total) === offset && known.sizeBytes === offset;
    return isWhole ? { action: 'complete' } : { action: 'ask-for-all', reason: 'the server refused the range' };
  }
  if (status !== 206) return { action: 'replace', totalBytes: declaredLength(headers) };

  if (isEncoded(headers)) return { action: 'ask-for-all', reason: 'the server compressed a part of the file' };
  const range = parseContentRange(headers.get('content-range'));
  if (!range) return { action: 'ask-for-all', reason: 'the server sent a part without saying which' };
  if (range.start !== offset || range.end < range.start) {
    return { action: 'ask-for-all', reason: `the server sent bytes from ${range.start} instead of ${offset}` };
  }
  if (range.total !== undefined && known.sizeBytes !== undefined && range.total !== known.sizeBytes) {
    return { action: 'ask-for-all', reason: 'the file on the server has another size now' };
  }
  const etag = headers.get('etag');
  if (etag && known.etag && etag !== known.etag) {
    return { action: 'ask-for-all', reason: 'the file on the server was replaced' };
  }
  const modified = headers.get('last-modified');
  if (!etag && modified && known.lastModified && modified !== known.lastModified) {
    return { action: 'ask-for-all', reason: 'the file on the server was replaced' };
  }
  return { action: 'append', totalBytes: range.total ?? known.sizeBytes };
}

/** `If-Range` value for the part: a strong ETag, else the date. Weak ETags (`W/`) are not allowed there. */
export function ifRangeValue(known: Readonly<PartOrigin>): string | undefined {
  if (known.etag && !known.etag.startsWith('W/')) return known.etag;
  return known.etag ? undefined : known.lastModified;
}

/** Size of the body, unless it was compressed on the way: `fetch` hands out decompressed bytes. */
function declaredLength(headers: RangeAnswer['headers']): number | undefined {
  const length = headers.get('content-length');
  if (isEncoded(headers) || !length || !/^\d+$/.test(length)) return undefined;
  const value = Number(length);
  return Number.isSafeInteger(value) ? value : undefined;
}

function isEncoded(headers: RangeAnswer['headers']): boolean {
  const encoding = headers.get('content-encoding');
  return encoding !== null && encoding.toLowerCase() !== 'identity';
}

function parseContentRange(
  value: string | null,
): { start: number; end: number; total: number | undefined } | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(value ?? '');
  if (!match) return undefined;
  const [start, end] = [Number(match[1]), Number(match[2])];
  const total = match[3] === '*' ? undefined : Number(match[3]);
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return undefined;
  if (total !== undefined && (!Number.isSafeInteger(total) || end >= total)) return undefined;
  return { start, end, total };
}
