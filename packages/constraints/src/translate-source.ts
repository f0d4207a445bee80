import { checkGrammar } from './check-grammar.ts';
import { ConstraintError } from './constraint-error.ts';
import type { ConstraintSource, TagsSource } from './constraint-source.ts';
import { choice, type Rules, text } from './grammar/expression.ts';
import { jsonRules } from './grammar/json-text.ts';
import { printEbnf } from './grammar/print-ebnf.ts';
import { prune } from './grammar/prune.ts';
import { translateSchema } from './schema/translate-schema.ts';

/** A constraint in a language of XGrammar: an EBNF grammar, or a structural tag as JSON text. */
export interface GrammarText {
  readonly language: 'ebnf' | 'structural-tag';
  readonly text: string;
}

/** @throws ConstraintError for a schema that is wrong, not supported, or that no text obeys */
export function translateSource(source: ConstraintSource): GrammarText {
  switch (source.kind) {
    case 'json':
      return { language: 'ebnf', text: print(new Map(jsonRules).set('root', jsonRules.get('object')!)) };
    case 'json-schema':
      return { language: 'ebnf', text: schemaEbnf(source.schema) };
    case 'grammar':
      checkGrammar(source.grammar);
      return { language: 'ebnf', text: source.grammar };
    case 'choice':
      return { language: 'ebnf', text: print(new Map([['root', choice(...source.choices.map(text))]])) };
    case 'tags':
      return { language: 'structural-tag', text: JSON.stringify(structuralTag(source)) };
  }
}

function schemaEbnf(schema: unknown): string {
  return print(translateSchema(schema));
}

function print(rules: Rules): string {
  const pruned = prune(rules, 'root');
  if (pruned.size === 0) {
    throw new ConstraintError('No value is valid by the schema, or none that comes to an end.', {
      details: { path: '#' },
    });
  }
  return printEbnf(pruned);
}

function structuralTag({ triggers, tags, atLeastOne, stopAfterFirst }: TagsSource): object {
  for (const { begin } of tags) {
    if (triggers.some((trigger) => trigger !== '' && begin.startsWith(trigger))) continue;
    throw new ConstraintError(`The tag that begins with ${JSON.stringify(begin)} starts with none of the triggers.`);
  }
  return {
    type: 'structural_tag',
    format: {
      type: 'triggered_tags',
      triggers,
      tags: tags.map(({ begin, schema, end }) => ({
        type: 'tag',
        begin,
        content: { type: 'grammar', grammar: schemaEbnf(schema) },
        end,
      })),
      at_least_one: atLeastOne,
      stop_after_first: stopAfterFirst,
    },
  };
}
