import fc from 'fast-check';
import type { AnyJson } from './test-server.ts';

/** Numbers that JSON.stringify would not write as they are. */
class RawNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

const deep = (depth: number): unknown => (depth === 0 ? 1 : [deep(depth - 1)]);

/** What a client with a mistake might send anywhere. */
const oddValues: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, -0, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53],
  ...['9007199254740993', '18446744073709551616', '1e400', '-1e400', '1.0', '0.1e-5000'].map(
    (text) => new RawNumber(text),
  ),
  ...[
    '',
    ' ',
    '0',
    'null',
    '\u0000',
    '\ud800',
    '\udc00x',
    '😀',
    '<|im_end|>',
    '{{ 1 / 0 }}',
    'x'.repeat(5000),
    '../../etc',
  ],
  ...[[], {}, [null], [[]], [1, 'a', null], { a: 1 }, { '': null }, deep(150)],
];

interface Mutation {
  /** Which place of the value, counted around. */
  readonly place: number;
  readonly kind: 'replace' | 'remove' | 'add' | 'repeat';
  readonly value: unknown;
  readonly name: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  place: fc.nat(1000),
  kind: fc.constantFrom<Mutation['kind']>('replace', 'replace', 'remove', 'add', 'repeat'),
  value: fc.constantFrom(...oddValues),
  name: fc.constantFrom('extra', '', '__proto__', 'constructor', 'toString', 'stream', 'n', 'model'),
});

/** JSON texts of a value after up to three mistakes. */
export function mutatedJson(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return fc
    .tuple(value, fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([value, mutations]) => writeJson(mutations.reduce(mutate, value)));
}

/** JSON, with numbers of any size where a mutation put them. */
export function writeJson(value: unknown): string {
  if (value instanceof RawNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}:${writeJson(item)}`)
    .join(',')}}`;
}

function mutate(value: unknown, mutation: Mutation): unknown {
  const paths = [...pathsOf(value)];
  const path = paths[mutation.place % paths.length]!;
  return change(value, path, mutation);
}

function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  yield path;
  if (typeof value !== 'object' || value === null || value instanceof RawNumber) return;
  for (const [key, item] of Object.entries(value)) yield* pathsOf(item, [...path, key]);
}

function change(value: AnyJson, [key, ...rest]: readonly string[], mutation: Mutation): unknown {
  const { kind, name } = mutation;
  if (key === undefined) {
    if (kind !== 'add' || typeof value !== 'object' || value === null) return mutation.value;
    if (Array.isArray(value)) return [...value, mutation.value];
    // As an own property, also where it is called __proto__.
    return Object.fromEntries([...Object.entries(value), [name, mutation.value]]);
  }
  const isLast = rest.length === 0;
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      if (`${index}` !== key) return [item];
      if (isLast && kind === 'remove') return [];
      if (isLast && kind === 'repeat') return [item, item];
      return [change(item, rest, mutation)];
    });
  }
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => {
      if (name !== key) return [[name, item]];
      return isLast && kind === 'remove' ? [] : [[name, change(item, rest, mutation)]];
    }),
  );
}
