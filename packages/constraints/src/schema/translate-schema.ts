import { ConstraintError } from '../constraint-error.ts';
import { choice, type Expression, nothing, type Rules, rule, text } from '../grammar/expression.ts';
import { jsonRules } from '../grammar/json-text.ts';
import { arrayOf } from './arrays.ts';
import { checkKeywords, type LoneKeyword, resolveReference, typesOfKeywords } from './keywords.ts';
import { integerOf, numberOf } from './numbers.ts';
import { objectOf } from './objects.ts';
import { checkDisjoint } from './one-of.ts';
import {
  declaredTypes,
  isOfType,
  type JsonType,
  jsonTypes,
  type Place,
  type SchemaObject,
  schemaError,
  subschemas,
} from './schema-value.ts';
import { stringOf } from './strings.ts';

/** Deeper schemas are refused before the stack overflows. */
const mostDepth = 200;

/** What the translation of a part of a schema needs of the whole. */
export interface SchemaContext {
  /** A rule for the values of a schema. */
  valuesOf(place: Place): Expression;
  /** Adds a rule of its own; the name only helps to read the grammar. */
  define(name: string, expression: Expression): Expression;
}

/**
 * Translates a JSON schema into rules, of which `root` stands for its values as JSON text. It allows no value that is not
 * valid, and may be stricter than the schema: see the README.
 *
 * @throws ConstraintError that says where the schema is wrong or what of it is not supported
 */
export function translateSchema(schema: unknown): Rules {
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
    throw new ConstraintError('A JSON schema must be an object, true or false.', { details: { path: '#' } });
  }
  const root: Place = { schema: schema as SchemaObject | boolean, path: '#' };
  const translation = new Translation(root);
  translation.rules.set('root', translation.valuesOf(root));
  return translation.rules;
}

class Translation implements SchemaContext {
  readonly rules: Rules = new Map(jsonRules);
  readonly #root: Place;
  /** Rules of schemas that were met, so that a recursive schema ends. Two paths may lead to one schema. */
  readonly #names = new Map<SchemaObject, string>();
  /** Schemas that are being translated without a character of text between them. */
  readonly #onTheSpot = new Set<SchemaObject>();
  /** Schemas that are known not to lead to themselves. */
  readonly #withoutCycle = new Set<SchemaObject>();
  #depth = 0;
  #numRules = 0;

  constructor(root: Place) {
    this.#root = root;
  }

  define(name: string, expression: Expression): Expression {
    const unique = `${name}_${this.#numRules++}`;
    this.rules.set(unique, expression);
    return rule(unique);
  }

  valuesOf(place: Place): Expression {
    const { schema, path } = place;
    if (typeof schema === 'boolean') return schema ? rule('value') : nothing;
    const known = this.#names.get(schema);
    if (known !== undefined) return rule(known);
    if (++this.#depth > mostDepth) throw schemaError(path, `is nested deeper than ${mostDepth} levels.`);
    this.#refuseCycle(place);
    const name = `schema_${this.#numRules++}`;
    this.#names.set(schema, name);
    this.rules.set(name, this.#translate(place));
    this.#depth--;
    return rule(name);
  }

  #translate(place: Place): Expression {
    const schema = place.schema as SchemaObject;
    const lone = checkKeywords(schema, place.path);
    if (lone === 'const' || lone === 'enum') return this.#listed(place, lone);
    if (lone !== undefined) return choice(...this.#alternatives(place, lone).map((part) => this.valuesOf(part)));
    const named = declaredTypes(schema, place.path);
    const meant = typesOfKeywords(schema);
    if (named === undefined && meant.size === 0) return rule('value');
    const types = named ?? meant;
    return choice(...jsonTypes.filter((type) => types.has(type)).map((type) => this.#ofType(place, type)));
  }

  #ofType(place: Place, type: JsonType): Expression {
    switch (type) {
      case 'object':
        return objectOf(place, this);
      case 'array':
        return arrayOf(place, this);
      case 'string':
        return stringOf(place);
      case 'number':
        return numberOf(place);
      case 'integer':
        return integerOf(place);
      default:
        return rule(type);
    }
  }

  #listed({ schema, path }: Place, keyword: 'const' | 'enum'): Expression {
    const values = keyword === 'const' ? [(schema as SchemaObject).const] : (schema as SchemaObject).enum;
    if (!Array.isArray(values) || values.length === 0) throw schemaError(path, 'must have a list of values as enum.');
    const types = declaredTypes(schema as SchemaObject, path);
    const allowed = values.filter((value) => types === undefined || [...types].some((type) => isOfType(value, type)));
    return choice(...allowed.map((value) => text(JSON.stringify(value))));
  }

  /** The schemas of which one has to hold. */
  #alternatives(place: Place, keyword: Exclude<LoneKeyword, 'const' | 'enum'>): Place[] {
    if (keyword === '$ref') return [resolveReference(this.#root, place)];
    const parts = subschemas(place, keyword);
    if (keyword === 'allOf' && parts.length > 1) {
      throw schemaError(
        place.path,
        'has an allOf of more than one schema, which is not supported. Merge them into one.',
      );
    }
    if (keyword === 'oneOf') checkDisjoint(parts, this.#root, place.path);
    return parts;
  }

  /** A schema that leads to itself by $ref and its like alone says nothing. */
  #refuseCycle(place: Place): void {
    const schema = place.schema as SchemaObject;
    const lone = checkKeywords(schema, place.path);
    if (lone === undefined || lone === 'const' || lone === 'enum') return;
    if (this.#onTheSpot.has(schema)) throw schemaError(place.path, 'refers to itself, without a value of its own.');
    if (this.#onTheSpot.size > mostDepth) throw schemaError(place.path, `is nested deeper than ${mostDepth} levels.`);
    this.#onTheSpot.add(schema);
    for (const part of this.#alternatives(place, lone)) {
      if (typeof part.schema === 'object' && !this.#withoutCycle.has(part.schema)) this.#refuseCycle(part);
    }
    this.#onTheSpot.delete(schema);
    this.#withoutCycle.add(schema);
  }
}
