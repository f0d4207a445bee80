import { InvalidArgumentError } from '@hearth/core';
import { ConstraintError } from './constraint-error.ts';
import { withoutLargeIntegers } from './schema/large-integers.ts';

/** What a text has to be. */
export type ConstraintSource =
  /** A JSON object, with anything in it. */
  | { readonly kind: 'json' }
  /** JSON text of a value that is valid by a JSON schema. `schema` is the schema as a value: an object, true or false. */
  | { readonly kind: 'json-schema'; readonly schema: unknown }
  /** A text of a grammar in the EBNF of XGrammar, which begins with its rule `root`. */
  | { readonly kind: 'grammar'; readonly grammar: string }
  /** One of these texts. */
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | TagsSource;

/**
 * Free text, in which a trigger opens a tag: `begin`, then JSON text by the schema, then `end`. For calls of tools. Each
 * `begin` starts with a trigger, and once a trigger was written, the text goes on with one of the tags that start with it.
 */
export interface TagsSource {
  readonly kind: 'tags';
  readonly triggers: readonly string[];
  readonly tags: readonly { readonly begin: string; readonly schema: unknown; readonly end: string }[];
  /** There must be one, and no free text before it. Default: false. */
  readonly atLeastOne?: boolean | undefined;
  /** The text ends after the first. Default: false. */
  readonly stopAfterFirst?: boolean | undefined;
}

/**
 * A source as text, the same for equal sources: the key under which a compiled constraint is kept.
 *
 * @throws InvalidArgumentError for a source of a wrong shape
 * @throws ConstraintError for one that is larger than `mostLength` UTF-16 units
 */
export function sourceText(source: ConstraintSource, mostLength: number): string {
  const text = stringify(checkSource(source));
  if (text.length <= mostLength) return text;
  throw new ConstraintError(
    `The constraint has ${text.length} characters, but the limit is ${mostLength}. Shorten it or raise limits.sourceLength.`,
    { details: { limit: 'sourceLength', length: text.length, sourceLength: mostLength } },
  );
}

function stringify(source: ConstraintSource): string {
  try {
    return JSON.stringify(source);
  } catch (error) {
    throw new InvalidArgumentError(
      'The schema of a constraint must be a JSON value, but it cannot be written as JSON.',
      {
        cause: error,
      },
    );
  }
}

/** The known fields of a source, in one order. */
function checkSource(source: ConstraintSource): ConstraintSource {
  switch (source?.kind) {
    case 'json':
      return { kind: 'json' };
    case 'json-schema':
      return { kind: source.kind, schema: checkSchema(source.schema, 'schema') };
    case 'grammar':
      return { kind: source.kind, grammar: checkText(source.grammar, 'grammar') };
    case 'choice':
      return { kind: source.kind, choices: checkTexts(source.choices, 'choices') };
    case 'tags':
      return {
        kind: source.kind,
        triggers: checkTexts(source.triggers, 'triggers'),
        tags: checkList(source.tags, 'tags').map((tag, index) => ({
          begin: checkText(tag?.begin, `tags[${index}].begin`),
          schema: checkSchema(tag.schema, `tags[${index}].schema`),
          end: checkText(tag.end, `tags[${index}].end`),
        })),
        atLeastOne: checkFlag(source.atLeastOne, 'atLeastOne'),
        stopAfterFirst: checkFlag(source.stopAfterFirst, 'stopAfterFirst'),
      };
    default:
      throw invalid('kind', 'json, json-schema, grammar, choice or tags', (source as { kind?: unknown })?.kind);
  }
}

function checkSchema(schema: unknown, field: string): unknown {
  if (typeof schema === 'boolean' || (typeof schema === 'object' && schema !== null && !Array.isArray(schema))) {
    return withoutLargeIntegers(schema);
  }
  throw invalid(field, 'a JSON schema: an object, true or false', schema);
}

function checkText(text: unknown, field: string): string {
  if (typeof text !== 'string') throw invalid(field, 'a string', text);
  if (/\p{Surrogate}/u.test(text)) throw invalid(field, 'well-formed text, without half of a surrogate pair', text);
  return text;
}

function checkTexts(texts: readonly string[], field: string): string[] {
  return checkList(texts, field).map((text, index) => checkText(text, `${field}[${index}]`));
}

function checkList<T>(list: readonly T[], field: string): readonly T[] {
  if (Array.isArray(list) && list.length > 0) return list;
  throw invalid(field, 'an array with at least one element', list);
}

function checkFlag(flag: unknown, field: string): boolean {
  if (flag === undefined || typeof flag === 'boolean') return flag ?? false;
  throw invalid(field, 'true or false', flag);
}

function invalid(field: string, expected: string, received: unknown): InvalidArgumentError {
  const shown = typeof received === 'string' ? JSON.stringify(received.slice(0, 100)) : `${received}`;
  return new InvalidArgumentError(`${field} of a constraint must be ${expected}, but it is ${shown}.`, {
    details: { field, expected },
  });
}
