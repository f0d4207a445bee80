import { InvalidModelError } from '@hearth/core';

/**
 * Readers for parsed JSON of unknown shape. Each takes the place of the value (`model.merges[3]`) and throws an
 * `InvalidModelError` that names it, because a message without the place is of no use in a file of ten megabytes.
 */
export function invalid(place: string, expected: string, value: unknown): InvalidModelError {
  return new InvalidModelError(`${place} must be ${expected}, but it is ${show(value)}.`, { details: { place } });
}

/** A value for a message: short, on one line. */
export function show(value: unknown): string {
  if (value === undefined) return 'absent';
  const text = typeof value === 'bigint' ? `${value}` : (JSON.stringify(value) ?? typeof value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

export function readObject(value: unknown, place: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw invalid(place, 'an object', value);
}

export function readArray(value: unknown, place: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw invalid(place, 'a list', value);
}

export function readString(value: unknown, place: string): string {
  if (typeof value === 'string') return value;
  throw invalid(place, 'a string', value);
}

/** A token id: a whole number below `maxTokenId`. */
export function readTokenId(value: unknown, place: string): number {
  const id = typeof value === 'bigint' ? Number(value) : value;
  if (typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < maxVocabularySize) return id;
  throw invalid(place, `a token id between 0 and ${maxVocabularySize - 1}`, value);
}

/** `undefined` and `null` stand for the default, as in the file format. */
export function readBoolean(value: unknown, place: string, byDefault: boolean): boolean {
  if (value === undefined || value === null) return byDefault;
  if (typeof value === 'boolean') return value;
  throw invalid(place, 'true or false', value);
}

/**
 * Tables are sized by the largest id, so one false id must not cost gigabytes. The largest vocabularies in use have
 * about 260,000 pieces; this is sixteen times that.
 */
export const maxVocabularySize = 2 ** 22;
