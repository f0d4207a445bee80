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
import { comma, enclosed, space } from '../grammar/json-text.ts';
import { count, type Place, type SchemaObject, schemaError, subschema, subschemas } from './schema-value.ts';
import type { SchemaContext } from './translate-schema.ts';

/** Arrays of a schema: its `prefixItems` first, then any number of `items`. */
export function arrayOf(place: Place, context: SchemaContext): Expression {
  const schema = place.schema as SchemaObject;
  const { path } = place;
  if (schema.uniqueItems !== undefined && schema.uniqueItems !== false) {
    throw schemaError(path, 'uses uniqueItems, which is not supported. Leave it out.');
  }
  if (Array.isArray(schema.items)) throw schemaError(path, 'has a list as items. Call it prefixItems.');
  const prefix = schema.prefixItems === undefined ? [] : subschemas(place, 'prefixItems');
  const least = count(schema, 'minItems', path) ?? 0;
  const isOpen = schema.items !== undefined || prefix.length < Math.max(least, 1);
  const most = count(schema, 'maxItems', path) ?? (isOpen ? undefined : prefix.length);
  if (most !== undefined && most < least) return nothing;

  const item = schema.items === undefined ? rule('value') : context.valuesOf(subschema(place, 'items'));
  // A rule, because XGrammar may take too long to compile a large count of anything else.
  const more = context.define('more', sequence(comma, item));
  const fixed = prefix.slice(0, most).map((part) => context.valuesOf(part));
  // From the end: what may follow after so many values.
  let rest = isOpen ? repeat(more, Math.max(0, least - fixed.length), most && most - fixed.length) : empty;
  for (let index = fixed.length - 1; index >= 1; index--) {
    const next = sequence(comma, fixed[index]!, rest);
    rest = context.define('items', index >= least ? optional(next) : next);
  }
  const noItems = least === 0 ? sequence(text('['), space, text(']')) : nothing;
  if (most === 0) return noItems;
  if (fixed.length > 0) return choice(noItems, enclosed('[', sequence(fixed[0]!, rest), ']'));
  const others = repeat(more, Math.max(0, least - 1), most && most - 1);
  return choice(noItems, enclosed('[', sequence(item, others), ']'));
}
