import { isObject, type JsonType, type Place, type SchemaObject, schemaError } from './schema-value.ts';

/** Keywords that say nothing about which values are valid. */
const annotations = new Set([
  '$comment',
  '$defs',
  '$schema',
  'contentEncoding',
  'contentMediaType',
  'default',
  'definitions',
  'deprecated',
  'description',
  'discriminator',
  'example',
  'examples',
  'readOnly',
  'title',
  'writeOnly',
]);

/** Keywords that hold for values of one type, and are obeyed. */
const keywordsOfTypes: Partial<Readonly<Record<JsonType, readonly string[]>>> = {
  object: ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
  string: ['minLength', 'maxLength', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
};

/** Each of these says alone what is valid: beside it there may be `type` (for values) and annotations only. */
const alone = ['$ref', 'const', 'enum', 'anyOf', 'oneOf', 'allOf'] as const;
export type LoneKeyword = (typeof alone)[number];

const supported = new Set<string>(['type', ...alone, ...Object.values(keywordsOfTypes).flat()]);

/**
 * Refuses every keyword that would be ignored although it changes which values are valid.
 *
 * @returns the keyword that says alone what is valid, if there is one
 * @throws ConstraintError that names the keyword and the place
 */
export function checkKeywords(schema: SchemaObject, path: string): LoneKeyword | undefined {
  const keywords = Object.keys(schema).filter((keyword) => !annotations.has(keyword));
  for (const keyword of keywords) {
    if (supported.has(keyword) || (keyword === '$id' && path === '#') || keyword.startsWith('x-')) continue;
    throw schemaError(path, `uses ${keyword}, which is not supported. Express it otherwise or leave it out.`);
  }
  const lone = alone.find((keyword) => keywords.includes(keyword));
  if (lone === undefined) return undefined;
  const mayHaveType = lone === 'const' || lone === 'enum';
  const other = keywords.find(
    (keyword) =>
      keyword !== lone && keyword !== '$id' && !keyword.startsWith('x-') && !(mayHaveType && keyword === 'type'),
  );
  if (other === undefined) return lone;
  throw schemaError(path, `has ${other} beside ${lone}, which is not supported. Move it into what ${lone} holds.`);
}

/** The types whose keywords a schema uses: what its author has in mind when there is no `type`. */
export function typesOfKeywords(schema: SchemaObject): Set<JsonType> {
  const types = new Set<JsonType>();
  for (const [type, keywords] of Object.entries(keywordsOfTypes)) {
    if (keywords.some((keyword) => schema[keyword] !== undefined)) types.add(type as JsonType);
  }
  return types;
}

/**
 * What a `$ref` points to in the same document.
 * @throws ConstraintError when there is nothing, or it lies elsewhere
 */
export function resolveReference(root: Place, { schema, path }: Place): Place {
  const reference = (schema as SchemaObject).$ref;
  if (typeof reference !== 'string') throw schemaError(path, 'must have a text as $ref.');
  if (reference !== '#' && !reference.startsWith('#/')) {
    throw schemaError(
      path,
      `refers to ${JSON.stringify(reference)}. Only places in the same schema can be referred to, as #/$defs/name.`,
    );
  }
  let value: unknown = root.schema;
  for (const part of reference.split('/').slice(1)) {
    const key = decode(part, path);
    const isThere = (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key);
    if (!isThere) throw schemaError(path, `refers to ${JSON.stringify(reference)}, which does not exist.`);
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value === 'boolean' || isObject(value)) return { schema: value, path: reference };
  throw schemaError(path, `refers to ${JSON.stringify(reference)}, which is no schema.`);
}

function decode(part: string, path: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    throw schemaError(path, `has a $ref with a damaged escape: ${JSON.stringify(part)}.`);
  }
}
