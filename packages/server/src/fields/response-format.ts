import { z } from 'zod';
import { flag, text } from './scalars.ts';

const schemaField = z
  .record(z.string(), z.unknown(), { error: 'must be a JSON schema' })
  .meta({ description: 'JSON schema of the answer.' });

const jsonSchema = {
  name: z.string({ error: 'must be a string' }).max(128, { error: 'must have at most 128 characters' }).nullish(),
  description: text('What the schema is for.', 65_536),
  schema: schemaField,
  strict: flag('The answer is held to the schema either way.'),
};

const typeError = 'must be "text", "json_object" or "json_schema"';

/** What the answer has to be, as chats have it. */
export const responseFormatField = z
  .discriminatedUnion(
    'type',
    [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({
        type: z.literal('json_schema'),
        json_schema: z.object(jsonSchema, { error: 'must be an object with a schema' }),
      }),
    ],
    { error: (issue) => (issue.code === 'invalid_union' ? typeError : 'must be an object with a type') },
  )
  .nullish();

/** The same, flat, as /v1/responses has it. */
export const textFormatField = z
  .discriminatedUnion(
    'type',
    [
      z.object({ type: z.literal('text') }),
      z.object({ type: z.literal('json_object') }),
      z.object({ type: z.literal('json_schema'), ...jsonSchema }),
    ],
    { error: (issue) => (issue.code === 'invalid_union' ? typeError : 'must be an object with a type') },
  )
  .nullish();

const nothing = z.null({ error: 'is not supported' }).optional();

/** Constraints that OpenAI has no words for; the field is called as vLLM calls it. */
export const structuredOutputsField = z
  .object(
    {
      json: schemaField.nullish(),
      json_object: flag('A JSON object, with anything in it.'),
      grammar: text('EBNF grammar of the answer, which begins with the rule `root`.', 262_144),
      choice: z
        .array(z.string({ error: 'must be a string' }), { error: 'must be a list of texts' })
        .min(1, { error: 'must be a list of at least one text' })
        .max(1024, { error: 'must have at most 1024 texts' })
        .meta({ description: 'The answer is one of these texts.' })
        .nullish(),
      regex: nothing,
      structural_tag: nothing,
    },
    { error: 'must be an object' },
  )
  .refine((fields) => numGiven(fields) === 1, {
    error: 'must have exactly one of json, json_object, grammar and choice',
  })
  .meta({ description: 'Holds the answer to a JSON schema, any JSON object, a grammar, or one of several texts.' })
  .nullish();

function numGiven({ json, json_object, grammar, choice }: Readonly<Record<string, unknown>>): number {
  return [json, json_object || null, grammar, choice].filter((value) => (value ?? null) !== null).length;
}

export type ResponseFormat = z.output<typeof responseFormatField>;
export type StructuredOutputs = z.output<typeof structuredOutputsField>;
