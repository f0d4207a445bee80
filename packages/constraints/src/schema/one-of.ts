import { resolveReference } from './keywords.ts';
import {
  isObject,
  isOfType,
  type JsonType,
  jsonTypes,
  type Place,
  type SchemaObject,
  schemaError,
} from './schema-value.ts';

/**
 * `oneOf` wants exactly one of its schemas to hold, which a grammar cannot say. When no value obeys two of them, it is the
 * same as `anyOf`: they are of different types, list different values, or are objects that a property tells apart.
 *
 * @throws ConstraintError when that cannot be seen
 */
export function checkDisjoint(parts: readonly Place[], root: Place, path: string): void {
  for (const [index, part] of parts.entries()) {
    for (const other of parts.slice(0, index)) {
      if (areDisjoint(part, other, root)) continue;
      throw schemaError(
        path,
        `has a oneOf whose schemas ${other.path} and ${part.path} may both hold. Give each object a required property with a const of its own, or use anyOf.`,
      );
    }
  }
}

function areDisjoint(one: Place, other: Place, root: Place): boolean {
  const [first, second] = [follow(one, root), follow(other, root)];
  if (first === undefined || second === undefined) return false;
  const [values, others] = [listedValues(first), listedValues(second)];
  if (values !== undefined && others !== undefined) {
    const texts = new Set(values.map(comparable));
    return !others.some((value) => texts.has(comparable(value)));
  }
  const [types, otherTypes] = [typesOf(first, values), typesOf(second, others)];
  const shared = jsonTypes.filter((type) => types.has(type) && otherTypes.has(type));
  if (shared.length === 0) return true;
  return shared.every((type) => type === 'object') && tellsApart(first, second, root);
}

/** Whether a property that both require has different values in each. */
function tellsApart(first: SchemaObject, second: SchemaObject, root: Place): boolean {
  const { required = [] } = second;
  const { properties, required: names = [] } = first;
  if (!isObject(properties) || !isObject(second.properties) || !Array.isArray(names) || !Array.isArray(required)) {
    return false;
  }
  return names.some((name) => {
    const [one, other] = [own(properties, name), own(second.properties as SchemaObject, name)];
    if (!required.includes(name) || !isObject(one) || !isObject(other)) return false;
    const [values, others] = [one, other].map((schema) => {
      const place = follow({ schema, path: '#' }, root);
      return place && listedValues(place);
    });
    if (!values || !others) return false;
    const texts = new Set(values.map(comparable));
    return !others.some((value) => texts.has(comparable(value)));
  });
}

const own = (object: SchemaObject, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);

/** The schema behind references; undefined when it is none that says anything. */
function follow(place: Place, root: Place): SchemaObject | undefined {
  for (let step = 0; step < 32; step++) {
    if (typeof place.schema === 'boolean') return undefined;
    if (place.schema.$ref === undefined) return place.schema;
    place = resolveReference(root, place);
  }
  return undefined;
}

function listedValues(schema: SchemaObject): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

/** Types that values of the schema may have; all when it does not say so. Integers count as numbers. */
function typesOf({ type }: SchemaObject, values: readonly unknown[] | undefined): ReadonlySet<JsonType> {
  const names = values
    ? jsonTypes.filter((name) => values.some((value) => isOfType(value, name)))
    : type === undefined
      ? jsonTypes
      : ([type].flat() as JsonType[]);
  return new Set(names.map((name) => (name === 'integer' ? 'number' : name)));
}

/** Equal for equal values, whatever the order of their properties. */
function comparable(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    isObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}
