import { ConstraintError } from '../constraint-error.ts';

/** A schema that is an object. */
export type SchemaObject = Readonly<Record<string, unknown>>;

/** A schema and where it stands in its document: a JSON pointer, such as `#/properties/age`. */
export interface Place {
  readonly schema: SchemaObject | boolean;
  readonly path: string;
}

/** The JSON types of the `type` keyword, in the order in which a value of any type is tried. */
export const jsonTypes = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'] as const;
export type JsonType = (typeof jsonTypes)[number];

export function schemaError(path: string, problem: string): ConstraintError {
  return new ConstraintError(`The schema at ${path} ${problem}`, { details: { path } });
}

export function isObject(value: unknown): value is SchemaObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The part of a schema behind `keys`, which has to be a schema itself. */
export function subschema(parent: Place, ...keys: readonly (string | number)[]): Place {
  let value: unknown = parent.schema;
  let { path } = parent;
  for (const key of keys) {
    value = (value as Record<string, unknown>)[key];
    path += `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  if (typeof value === 'boolean' || isObject(value)) return { schema: value, path };
  throw schemaError(path, 'must be an object, true or false.');
}

/** The schemas of a keyword that holds a list of them. */
export function subschemas(parent: Place, keyword: string): Place[] {
  const list = (parent.schema as SchemaObject)[keyword];
  if (!Array.isArray(list) || list.length === 0) {
    throw schemaError(parent.path, `must have a list of schemas as ${keyword}.`);
  }
  return list.map((_, index) => subschema(parent, keyword, index));
}

/** A keyword that counts something. */
export function count(schema: SchemaObject, keyword: string, path: string): number | undefined {
  const value = schema[keyword];
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw schemaError(path, `must have a whole number from 0 as ${keyword}.`);
}

/** The types that a schema names, undefined when it names none. */
export function declaredTypes({ type }: SchemaObject, path: string): ReadonlySet<JsonType> | undefined {
  if (type === undefined) return undefined;
  const names = Array.isArray(type) ? type : [type];
  for (const name of names) {
    if (!jsonTypes.includes(name)) throw schemaError(path, `has no JSON type as type: ${JSON.stringify(name)}.`);
  }
  if (names.length === 0) throw schemaError(path, 'has an empty list as type.');
  return new Set(names);
}

/** Whether a value is of a JSON type. Every integer is a number too. */
export function isOfType(value: unknown, type: JsonType): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}
