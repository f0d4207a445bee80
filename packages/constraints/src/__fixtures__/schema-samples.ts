import fc from 'fast-check';

/** A schema and some values that are valid by it, with their properties in the order of the schema. */
export interface SchemaSample {
  readonly schema: object | boolean;
  readonly values: readonly unknown[];
}

const numValues = 3;
const some = <T>(values: fc.Arbitrary<T>) => fc.array(values, { minLength: numValues, maxLength: numValues });
const letters = fc.string({
  unit: fc.constantFrom('a', 'b', ' ', '"', '\\', '\n', '\u0000', 'é', '日', '😀'),
  maxLength: 5,
});
const names = fc.constantFrom('a', 'b', 'ab', 'é"', '');
/** Numbers that JavaScript writes without an exponent. */
const thousandths = fc.integer({ min: -3_000_000, max: 3_000_000 }).map((units) => units / 1000);

const sample = (schema: object | boolean, values: fc.Arbitrary<unknown>): fc.Arbitrary<SchemaSample> =>
  some(values).map((list) => ({ schema, values: list }));

const leaf: fc.Arbitrary<SchemaSample> = fc.oneof(
  sample({ type: 'null' }, fc.constant(null)),
  sample({ type: ['boolean', 'null'] }, fc.constantFrom(true, false, null)),
  sample({ type: 'string' }, letters),
  fc.tuple(fc.nat(3), fc.nat(3)).chain(([minLength, more]) => {
    const texts = fc.string({ unit: 'grapheme-ascii', minLength, maxLength: minLength + more });
    return sample({ type: 'string', minLength, maxLength: minLength + more }, texts);
  }),
  sample({ type: 'number' }, fc.oneof(thousandths, fc.double({ min: -1e300, max: 1e300, noNaN: true }))),
  sample({ type: 'integer' }, fc.maxSafeInteger()),
  fc.tuple(fc.integer({ min: -500, max: 500 }), fc.nat(900)).chain(([minimum, more]) => {
    const integers = fc.integer({ min: minimum, max: minimum + more });
    return sample({ type: 'integer', minimum, maximum: minimum + more }, integers);
  }),
  fc.tuple(thousandths, thousandths).chain(([one, other]) => {
    const [minimum, maximum] = [Math.min(one, other), Math.max(one, other)];
    return sample({ type: 'number', minimum, maximum }, fc.constantFrom(minimum, maximum));
  }),
  fc
    .array(fc.oneof(letters, fc.integer(), fc.constant(null), fc.constant({ a: [1] })), { minLength: 1, maxLength: 4 })
    .chain((list) => sample({ enum: list }, fc.constantFrom(...list))),
  sample(
    true,
    fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('e+308')),
  ),
);

/** Schemas of every supported kind, nested. */
export const schemaSamples: fc.Arbitrary<SchemaSample> = fc.letrec<{ node: SchemaSample }>((tie) => {
  const node = tie('node');
  const array = fc.tuple(node, fc.nat(2), fc.nat(2)).map(([{ schema, values }, minItems, more]): SchemaSample => {
    const maxItems = minItems + more;
    const take = (length: number) => Array.from({ length }, (_, index) => values[index % numValues]);
    return {
      schema: { type: 'array', items: schema, minItems, maxItems },
      values: [take(minItems), take(maxItems), take(minItems)],
    };
  });
  const tuple = fc.tuple(node, node, node).map(
    ([first, second, rest]): SchemaSample => ({
      schema: { type: 'array', prefixItems: [first.schema, second.schema], items: rest.schema, minItems: 1 },
      values: first.values.map((value, index) =>
        [value, second.values[index], ...rest.values].slice(0, index === 0 ? 1 : 2 + index),
      ),
    }),
  );
  const object = fc
    .tuple(
      fc.uniqueArray(names, { minLength: 1, maxLength: 3 }),
      some(node),
      fc.array(fc.boolean()),
      node,
      fc.boolean(),
    )
    .map(([keys, members, isRequired, other, isOpen]): SchemaSample => {
      const required = keys.filter((_, index) => isRequired[index]);
      const valueAt = (sampleIndex: number) => {
        // Each sample leaves out other optional properties.
        const kept = keys.filter((key, index) => required.includes(key) || (index + sampleIndex) % 2 === 0);
        const entries = kept.map((key): [string, unknown] => [key, members[keys.indexOf(key)]!.values[sampleIndex]]);
        if (isOpen && sampleIndex > 0) entries.push(['other', other.values[sampleIndex]]);
        return Object.fromEntries(entries);
      };
      return {
        schema: {
          type: 'object',
          properties: Object.fromEntries(keys.map((key, index) => [key, members[index]!.schema])),
          required,
          ...(isOpen ? { additionalProperties: other.schema } : {}),
        },
        values: [0, 1, 2].map(valueAt),
      };
    });
  const union = fc.tuple(node, node).map(
    ([one, other]): SchemaSample => ({
      schema: { anyOf: [one.schema, other.schema] },
      values: [one.values[0], other.values[1], one.values[2]],
    }),
  );
  return { node: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, array, tuple, object, union) };
}).node;
