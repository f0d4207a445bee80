import {
  choice,
  type Expression,
  empty,
  nothing,
  optional,
  repeat,
  rule,
  sequence,
  text,
} from '../grammar/expression.ts';
import { colon, comma, enclosed, space } from '../grammar/json-text.ts';
import { otherKeys } from './other-keys.ts';
import { count, isObject, type Place, type SchemaObject, schemaError, subschema } from './schema-value.ts';
import type { SchemaContext } from './translate-schema.ts';

/**
 * Objects of a schema: its properties in the order in which it names them, optional ones left out or not, then others if
 * it asks for them. So no property comes twice.
 */
export function objectOf(place: Place, context: SchemaContext): Expression {
  const schema = place.schema as SchemaObject;
  const { properties = {} } = schema;
  if (!isObject(properties)) throw schemaError(place.path, 'must have an object as properties.');
  const names = Object.keys(properties);
  const required = requiredNames(place);
  const isClosed = schema.additionalProperties === undefined && schema.properties !== undefined;
  const others = othersOf(place, isClosed);
  // A required property that is not declared may still be anything when the schema does not forbid it.
  const otherValues = isClosed ? rule('value') : others === undefined ? nothing : context.valuesOf(others);
  const allNames = [...new Set([...names, ...required])];
  checkCount(place, required.size, others === undefined ? allNames.length : undefined);

  const members = allNames.map((name) => {
    const values = Object.hasOwn(properties, name)
      ? context.valuesOf(subschema(place, 'properties', name))
      : otherValues;
    return sequence(text(JSON.stringify(name)), colon, values);
  });
  const other = others && context.define('other', sequence(otherKeys(allNames, context), colon, otherValues));

  // From the end: what may follow when some member was written, and when none was.
  let afterSome: Expression = other === undefined ? empty : repeat(sequence(comma, other), 0);
  let afterNone: Expression = other === undefined ? nothing : sequence(other, afterSome);
  let mayBeEmpty = true;
  for (const [index, name] of [...allNames.entries()].reverse()) {
    const member = members[index]!;
    const isRequired = required.has(name);
    const first = sequence(member, afterSome);
    afterNone = context.define('first', isRequired ? first : choice(first, afterNone));
    const more = sequence(comma, member);
    afterSome = context.define('next', sequence(isRequired ? more : optional(more), afterSome));
    mayBeEmpty &&= !isRequired;
  }
  return choice(mayBeEmpty ? sequence(text('{'), space, text('}')) : nothing, enclosed('{', afterNone, '}'));
}

function requiredNames({ schema, path }: Place): ReadonlySet<string> {
  const { required = [] } = schema as SchemaObject;
  if (Array.isArray(required) && required.every((name) => typeof name === 'string')) return new Set(required);
  throw schemaError(path, 'must have a list of texts as required.');
}

/** The schema of properties that are not named; undefined when there may be none. */
function othersOf(place: Place, isClosed: boolean): Place | undefined {
  if (isClosed || (place.schema as SchemaObject).additionalProperties === false) return undefined;
  if ((place.schema as SchemaObject).additionalProperties === undefined) return { schema: true, path: place.path };
  return subschema(place, 'additionalProperties');
}

/** A grammar does not count properties, so a count has to hold anyway. */
function checkCount({ schema, path }: Place, least: number, most: number | undefined): void {
  const wantedLeast = count(schema as SchemaObject, 'minProperties', path) ?? 0;
  const wantedMost = count(schema as SchemaObject, 'maxProperties', path) ?? Number.POSITIVE_INFINITY;
  if (wantedLeast > least) {
    throw schemaError(path, 'has a minProperties above its required properties, which is not supported. Use required.');
  }
  if (wantedMost < (most ?? Number.POSITIVE_INFINITY)) {
    throw schemaError(path, 'has a maxProperties below what its properties allow, which is not supported.');
  }
}
