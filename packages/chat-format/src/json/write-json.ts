import { InvalidArgumentError } from '@hearth/core';
import { JsonText } from './json-text.ts';

/** Deepest nesting of values that are given to a template. */
export const maxJsonDepth = 200;

/**
 * Writes a value as JSON for the worker. `JsonText` is put in as it is, bigints as their digits; members that are
 * undefined are left out.
 *
 * @param place name of the value for messages, e.g. `messages[2].tool_calls`
 * @throws InvalidArgumentError naming the place of what JSON cannot hold
 */
export function writeJson(value: unknown, place: string, depth = 0): string {
  if (depth > maxJsonDepth) throw new InvalidArgumentError(`${place} is nested more than ${maxJsonDepth} levels deep.`);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'bigint':
      return value.toString();
    case 'number':
      if (!Number.isFinite(value)) throw notJson(place, String(value));
      return Object.is(value, -0) ? '-0.0' : String(value);
    case 'object':
      if (value === null) return 'null';
      if (value instanceof JsonText) return value.text;
      if (Array.isArray(value)) return writeList(value, place, depth);
      if (isPlain(value)) return writeObject(value, place, depth);
      throw notJson(place, `a ${value.constructor?.name ?? 'special object'}`);
    default:
      throw notJson(place, typeof value);
  }
}

function writeList(items: readonly unknown[], place: string, depth: number): string {
  // Array.from also visits holes, which JSON cannot hold.
  return `[${Array.from(items, (item, index) => writeJson(item, `${place}[${index}]`, depth + 1)).join(',')}]`;
}

function writeObject(value: object, place: string, depth: number): string {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${writeJson(member, `${place}.${key}`, depth + 1)}`).join(',')}}`;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function notJson(place: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`${place} is ${what}, which JSON cannot hold.`, { details: { place } });
}
