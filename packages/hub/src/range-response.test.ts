import { expect, test } from 'vitest';
import type { PartOrigin } from './part-file.ts';
import { ifRangeValue, interpretAnswer } from './range-response.ts';

const known: PartOrigin = { identity: 'x', etag: '"v1"', lastModified: 'Mon', sizeBytes: 1000 };

function verdictOf(status: number, headers: Record<string, string>, offset = 400, origin: PartOrigin = known) {
  return interpretAnswer({ status, headers: new Headers(headers) }, offset, origin);
}

test('a 206 for exactly what is missing is appended', () => {
  expect(verdictOf(206, { 'content-range': 'bytes 400-999/1000', etag: '"v1"' })).toEqual({
    action: 'append',
    totalBytes: 1000,
  });
});

test('a 206 of unknown total keeps the total that was declared before', () => {
  expect(verdictOf(206, { 'content-range': 'bytes 400-999/*' })).toEqual({ action: 'append', totalBytes: 1000 });
});

test.each([
  ['starts earlier', { 'content-range': 'bytes 300-999/1000' }],
  ['starts later', { 'content-range': 'bytes 500-999/1000' }],
  ['has no Content-Range', {}],
  ['has a Content-Range in other units', { 'content-range': 'items 400-999/1000' }],
  ['ends before it starts', { 'content-range': 'bytes 400-399/1000' }],
  ['ends past its total', { 'content-range': 'bytes 400-1000/1000' }],
  ['has numbers too large to be exact', { 'content-range': 'bytes 400-99999999999999999999/1000' }],
  ['has another total', { 'content-range': 'bytes 400-1999/2000' }],
  ['has another ETag', { 'content-range': 'bytes 400-999/1000', etag: '"v2"' }],
  ['has no ETag but another date', { 'content-range': 'bytes 400-999/1000', 'last-modified': 'Tue' }],
  ['is compressed', { 'content-range': 'bytes 400-999/1000', 'content-encoding': 'gzip' }],
])('a 206 that %s is not joined', (_what, headers) => {
  expect(verdictOf(206, headers as unknown as Record<string, string>).action).toBe('ask-for-all');
});

test('a 200 replaces what is there, with its declared size unless it is compressed', () => {
  expect(verdictOf(200, { 'content-length': '1000' })).toEqual({ action: 'replace', totalBytes: 1000 });
  expect(verdictOf(200, { 'content-length': '10', 'content-encoding': 'gzip' })).toEqual({
    action: 'replace',
    totalBytes: undefined,
  });
});

test('a 416 means complete only when both sides agree on the size', () => {
  expect(verdictOf(416, { 'content-range': 'bytes */1000' }, 1000).action).toBe('complete');
  expect(verdictOf(416, { 'content-range': 'bytes */1000' }, 400).action).toBe('ask-for-all');
  expect(verdictOf(416, { 'content-range': 'bytes */1000' }, 1000, { identity: 'x' }).action).toBe('ask-for-all');
  expect(verdictOf(416, {}, 1000).action).toBe('ask-for-all');
});

test('If-Range carries a strong ETag, else the date, never a weak ETag', () => {
  expect(ifRangeValue(known)).toBe('"v1"');
  expect(ifRangeValue({ identity: 'x', lastModified: 'Mon' })).toBe('Mon');
  expect(ifRangeValue({ identity: 'x', etag: 'W/"v1"', lastModified: 'Mon' })).toBeUndefined();
  expect(ifRangeValue({ identity: 'x' })).toBeUndefined();
});
