import fc from 'fast-check';
import type { AnyJson } from './test-server.ts';

export interface ArbitraryFromSchemaOptions {
  /** The whole document, for `$ref`. */
  readonly document: AnyJson;
  /** Values of properties that chance alone would not hit, by name. */
  readonly hints?: Readonly<Record<string, (bySchema: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>>>;
}

/** Below it, the parts of a schema that refers to itself are as small as they may be. */
const mostDepth = 6;
const mostItems = 4;

/** Values that a JSON schema allows, as far as it is written with the words that our description uses. */
export function arbitraryFromSchema(
  schema: AnyJson,
  options: ArbitraryFromSchemaOptions,
  depth = 0,
): fc.Arbitrary<unknown> {
  const from = (inner: AnyJson) => arbitraryFromSchema(inner, options, depth + 1);
  if (schema === true || Object.keys(schema).every((key) => key === 'description'))
    return fc.jsonValue({ maxDepth: 2 });
  if (schema.$ref) return from(resolve(options.document, schema.$ref));
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.allOf) return fc.tuple(...schema.allOf.map(from)).map((parts) => Object.assign({}, ...parts));
  const alternatives: AnyJson[] | undefined = schema.anyOf ?? schema.oneOf;
  if (alternatives) {
    const isDeep = depth > mostDepth && alternatives.length > 1;
    // The simple ones last: null, or a list of nothing.
    return isDeep ? from(alternatives.at(-1)) : fc.oneof(...alternatives.map(from));
  }
  const types: string[] = [schema.type].flat();
  return fc.oneof(...types.map((type) => ofType(type, schema, options, depth)));
}

function ofType(
  type: string,
  schema: AnyJson,
  options: ArbitraryFromSchemaOptions,
  depth: number,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'string':
      return stringFrom(schema);
    case 'integer':
      return integerFrom(schema);
    case 'number':
      return numberFrom(schema);
    case 'array':
      return arrayFrom(schema, options, depth);
    case 'object':
      return objectFrom(schema, options, depth);
    default:
      throw new Error(`No values are known for ${JSON.stringify(schema).slice(0, 200)}.`);
  }
}

function stringFrom({ pattern, minLength = 0, maxLength = 24 }: AnyJson): fc.Arbitrary<string> {
  if (pattern) return fc.stringMatching(new RegExp(pattern));
  const unit = fc.constantFrom<'grapheme' | 'binary'>('grapheme', 'binary');
  return unit.chain((unit) => fc.string({ unit, minLength, maxLength: Math.max(minLength, Math.min(maxLength, 24)) }));
}

function integerFrom({ minimum = -(2 ** 53), maximum = 2 ** 53 - 1 }: AnyJson): fc.Arbitrary<number> {
  const least = Math.max(minimum, Number.MIN_SAFE_INTEGER);
  const most = Math.min(maximum, Number.MAX_SAFE_INTEGER);
  // Small ones run to their end; the largest are where arithmetic breaks.
  const small = fc.integer({ min: least, max: Math.min(most, Math.max(least, 8)) });
  return fc.oneof({ weight: 3, arbitrary: small }, fc.integer({ min: least, max: most }), fc.constantFrom(least, most));
}

function numberFrom({ minimum = -1e308, maximum = 1e308, exclusiveMinimum, exclusiveMaximum }: AnyJson) {
  const least = exclusiveMinimum ?? minimum;
  const most = exclusiveMaximum ?? maximum;
  const isAllowed = (n: number) => n !== exclusiveMinimum && n !== exclusiveMaximum;
  return fc
    .oneof(
      fc.double({ min: least, max: most, noNaN: true }),
      fc.constantFrom(least, most, Math.min(most, Math.max(least, 1))),
    )
    .filter(isAllowed);
}

function arrayFrom(schema: AnyJson, options: ArbitraryFromSchemaOptions, depth: number): fc.Arbitrary<unknown[]> {
  const { prefixItems, items = true, minItems = 0, maxItems = mostItems } = schema;
  if (prefixItems)
    return fc.tuple(...prefixItems.map((item: AnyJson) => arbitraryFromSchema(item, options, depth + 1)));
  const maxLength = depth > mostDepth ? minItems : Math.max(minItems, Math.min(maxItems, mostItems));
  return fc.array(arbitraryFromSchema(items, options, depth + 1), { minLength: minItems, maxLength });
}

function objectFrom(schema: AnyJson, options: ArbitraryFromSchemaOptions, depth: number): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  // Most requests use few of the many fields there are.
  const optional: string[] = Object.keys(properties).filter((name) => !required.includes(name));
  const chosen = fc.subarray(optional, { maxLength: depth > mostDepth ? 0 : Math.min(5, optional.length) });
  const named = chosen.chain((names: string[]) =>
    fc.record(
      Object.fromEntries(
        [...required, ...names].map((name: string) => {
          const bySchema = arbitraryFromSchema(properties[name], options, depth + 1);
          return [name, options.hints?.[name]?.(bySchema) ?? bySchema];
        }),
      ),
    ),
  );
  if (typeof additionalProperties !== 'object' || depth > mostDepth) return named;
  const name = propertyNames ? arbitraryFromSchema(propertyNames, options, depth + 1) : fc.string({ maxLength: 8 });
  const more = fc.dictionary(
    name as fc.Arbitrary<string>,
    arbitraryFromSchema(additionalProperties, options, depth + 1),
    {
      maxKeys: 3,
    },
  );
  return fc.tuple(more, named).map(([more, named]) => ({ ...more, ...named }));
}

function resolve(document: AnyJson, reference: string): AnyJson {
  const keys = reference.replace(/^#\//, '').split('/');
  return keys.reduce(
    (value, key) => value[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  );
}
