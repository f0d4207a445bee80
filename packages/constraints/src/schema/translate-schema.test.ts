import { describe, expect, it } from 'vitest';
import { ConstraintError } from '../constraint-error.ts';
import { translateSource } from '../translate-source.ts';

const translate = (schema: unknown) => translateSource({ kind: 'json-schema', schema });
const problem = (schema: unknown): { path: unknown; message: string } => {
  try {
    translate(schema);
  } catch (error) {
    if (error instanceof ConstraintError) return { path: error.details.path, message: error.message };
    throw error;
  }
  throw new Error(`${JSON.stringify(schema)} was not refused.`);
};
const inProperty = (schema: unknown) => ({ type: 'object', properties: { 'a/b': schema } });

describe('a schema that cannot be obeyed as it says', () => {
  it.each([
    ['not', { not: {} }],
    ['if', { if: {}, else: {} }],
    ['pattern', { type: 'string', pattern: '^a' }],
    ['patternProperties', { patternProperties: {} }],
    ['propertyNames', { propertyNames: {} }],
    ['dependentRequired', { dependentRequired: {} }],
    ['unevaluatedProperties', { unevaluatedProperties: false }],
    ['contains', { contains: {} }],
    ['uniqueItems', { uniqueItems: true }],
    ['multipleOf', { multipleOf: 3 }],
    ['$anchor', { $anchor: 'x' }],
    ['$dynamicRef', { $dynamicRef: '#x' }],
    ['$id', { $id: 'other' }],
    ['minProperties', { type: 'object', minProperties: 2 }],
    ['maxProperties', { type: 'object', maxProperties: 2 }],
    ['a list as items', { items: [{}] }],
    ['allOf of more than one', { allOf: [{}, {}] }],
    ['minLength beside enum', { enum: ['a'], minLength: 2 }],
    ['type beside anyOf', { type: 'string', anyOf: [{}] }],
    ['properties beside $ref', { $ref: '#', properties: {} }],
    ['a length beside format', { format: 'date', maxLength: 3 }],
    ['format "uri"', { type: 'string', format: 'uri' }],
    ['an unknown keyword', { minLenght: 3 }],
    ['oneOf', { oneOf: [{ type: 'integer' }, { type: 'number' }] }],
  ])('is refused with its place: %s', (_, schema) => {
    expect(problem(inProperty(schema)).path).toBe('#/properties/a~1b');
  });

  it.each([
    ['no type', { type: 'text' }],
    ['no types', { type: [] }],
    ['no number', { type: 'integer', minimum: '3' }],
    ['no count', { type: 'string', minLength: -1 }],
    ['no enum', { enum: [] }],
    ['no list', { anyOf: {} }],
    ['no names', { required: 'a' }],
    ['no properties', { properties: [] }],
    ['a bound that is too large', { type: 'number', maximum: 1e300 }],
    ['an exclusive bound that is too fine', { type: 'number', exclusiveMinimum: 1 / 3 }],
  ])('is refused when it is wrong: %s', (_, schema) => {
    expect(problem(inProperty(schema)).path).toBe('#/properties/a~1b');
  });

  it('is refused when a schema in it is none', () => {
    expect(problem({ properties: { a: 3 } }).path).toBe('#/properties/a');
    expect(problem({ items: { anyOf: [true, 'x'] } }).path).toBe('#/items/anyOf/1');
    expect(problem([]).path).toBe('#');
  });
});

describe('references', () => {
  it('to nothing are refused (B42)', () => {
    expect(problem({ $ref: '#/$defs/Nope' })).toMatchObject({ path: '#', message: expect.stringMatching(/not exist/) });
    expect(problem({ $ref: '#/$defs/toString', $defs: {} }).message).toMatch(/not exist/);
    expect(problem({ items: { $ref: 'https://example.org/x' } }).path).toBe('#/items');
    expect(problem({ $ref: '#/$defs/%', $defs: {} }).message).toMatch(/escape/);
    expect(problem({ $ref: '#/title', title: 'x' }).message).toMatch(/no schema/);
  });

  it('to themselves are refused, in any number of steps (B42)', () => {
    const self = { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } };
    const ring = {
      anyOf: [{ type: 'null' }, { $ref: '#/$defs/A' }],
      $defs: { A: { anyOf: [{ $ref: '#/$defs/B' }] }, B: { oneOf: [{ $ref: '#/$defs/A' }] } },
    };
    expect(problem(self)).toMatchObject({ path: '#/$defs/A', message: expect.stringMatching(/itself/) });
    expect(problem(ring).message).toMatch(/itself/);
    expect(problem({ $ref: '#' }).message).toMatch(/itself/);
  });

  it('are read as JSON pointers in URLs', () => {
    const schema = { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { const: 'found' } } };
    expect(translate(schema).text).toMatch(/found/);
  });

  it('of which each names two more do not take for ever', () => {
    const $defs: Record<string, unknown> = { D90: { type: 'null' } };
    for (let level = 0; level < 90; level++) {
      const $ref = `#/$defs/D${level + 1}`;
      $defs[`D${level}`] = { anyOf: [{ $ref }, { $ref }] };
    }
    expect(translate({ $ref: '#/$defs/D0', $defs }).language).toBe('ebnf');
  });
});

describe('schemas without a value', () => {
  it.each([
    ['false', false],
    ['more required than allowed', { properties: {}, required: ['a'], additionalProperties: false }],
    ['an enum of another type', { type: 'string', enum: [1, 2] }],
    ['an empty range', { type: 'integer', minimum: 3, maximum: 2 }],
    ['a range without whole numbers', { type: 'integer', exclusiveMinimum: 1, exclusiveMaximum: 2 }],
    ['an empty length', { type: 'string', minLength: 3, maxLength: 2 }],
    ['a list of nothing', { type: 'array', items: false, minItems: 1 }],
    [
      'an object that needs another one for ever',
      { $ref: '#/$defs/N', $defs: { N: { properties: { next: { $ref: '#/$defs/N' } }, required: ['next'] } } },
    ],
  ])('are refused: %s', (_, schema) => {
    expect(problem(schema).message).toMatch(/No value is valid/);
  });
});

it('nesting and names are bounded', () => {
  let schema: unknown = {};
  for (let level = 0; level < 1000; level++) schema = { items: schema };
  expect(problem(schema).message).toMatch(/deeper/);
  let union: unknown = {};
  for (let level = 0; level < 1000; level++) union = { anyOf: [union] };
  expect(problem(union).message).toMatch(/deeper/);
});

it('oneOf is taken where no value obeys two of its schemas', () => {
  const kind = (name: string) => ({ properties: { kind: { const: name } }, required: ['kind'] });
  const object = (name: string) => ({ type: 'object', ...kind(name) });
  const $defs = { Dog: object('dog'), Cat: object('cat') };
  for (const oneOf of [
    [{ type: 'string' }, { type: 'null' }],
    [{ const: 1 }, { enum: [2, '1'] }],
    [{ $ref: '#/$defs/Dog' }, { $ref: '#/$defs/Cat' }, { type: 'string' }],
  ]) {
    expect(translate({ oneOf, $defs }).language).toBe('ebnf');
  }
  for (const oneOf of [
    [{ const: { a: 1, b: 2 } }, { const: { b: 2, a: 1 } }],
    [{ $ref: '#/$defs/Dog' }, { type: 'object' }],
    [object('dog'), object('dog')],
    [{ type: ['string', 'null'] }, { enum: [null] }],
    // Without a type, both hold for anything that is no object.
    [kind('dog'), kind('cat')],
  ]) {
    expect(problem({ oneOf, $defs }).message).toMatch(/may both hold/);
  }
});
