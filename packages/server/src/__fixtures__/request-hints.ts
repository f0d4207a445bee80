import fc from 'fast-check';
import type { AnyJson } from './test-server.ts';

const few = <T>(...values: T[]) => fc.constantFrom(...values);

/** JSON schemas as clients send them: plain, at the edge, and wrong. */
const jsonSchemas = few<unknown>(
  { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'], additionalProperties: false },
  { type: 'array', items: { enum: ['x', 'y'] }, maxItems: 2 },
  { $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } }, $ref: '#/$defs/node' },
  { type: 'string', pattern: '^(a+)+$', maxLength: 1e9 },
  { $ref: '#' },
  { $ref: '#/nowhere' },
  { $ref: 'http://localhost/schema' },
  { type: 'colour' },
  { not: {} },
  { anyOf: [] },
  {},
);

const grammars = few('root ::= "a" | "b"', 'root ::= [0-9]{1,3}', 'root ::= root', 'root ::= (', 'start ::= "a"', '');

const text = fc.oneof(few('hi', '', '<|im_end|>', '😀'), fc.string({ unit: 'grapheme', maxLength: 12 }));
const turn = fc.oneof(
  fc.record({
    role: few('system', 'user', 'assistant'),
    content: fc.oneof(text, fc.array(fc.record({ type: few('text'), text }), { maxLength: 2 })),
  }),
  fc.record({
    role: few('assistant'),
    tool_calls: fc.array(
      fc.record({
        id: few('c1'),
        type: few('function'),
        function: fc.record({ name: few('f'), arguments: few('{}', '{"a": 1}', '{') }),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  fc.record({ role: few('tool'), tool_call_id: few('c1'), content: text }),
);
const ids = fc.array(fc.nat(259), { minLength: 1, maxLength: 6 });
const textsOrIds = fc.oneof(text, ids, fc.array(fc.oneof(text, ids), { minLength: 1, maxLength: 3 }));
/** As chats have tools and as responses have them, in one. */
const tool = fc
  .record({ name: few('f', 'g'), parameters: jsonSchemas, strict: fc.boolean() }, { requiredKeys: ['name'] })
  .map((definition) => ({ type: 'function', ...definition, function: definition }));

/** Of the input of responses. */
const item = fc.oneof(
  fc.record({ role: few('system', 'user', 'assistant'), content: text }),
  fc.record({ type: few('function_call'), call_id: few('c1'), name: few('f'), arguments: few('{}', '{') }),
  fc.record({ type: few('function_call_output'), call_id: few('c1'), output: text }),
);

/**
 * What makes chance find requests that are answered: without them nearly every body is refused for one of its many fields. Each
 * is given what the schema says, and mostly says something likelier.
 */
export const requestHints: Readonly<Record<string, (bySchema: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>>> =
  Object.fromEntries(
    Object.entries<fc.Arbitrary<unknown>>({
      model: few('fake', null),
      messages: fc.array(turn, { minLength: 1, maxLength: 3 }),
      max_output_tokens: fc.integer({ min: 0, max: 20 }),
      tools: fc.uniqueArray(tool, { maxLength: 2, selector: ({ name }) => name }),
      tool_choice: few<unknown>('none', 'auto', 'required', { type: 'function', name: 'f', function: { name: 'f' } }),
      schema: jsonSchemas,
      json: jsonSchemas,
      parameters: jsonSchemas,
      grammar: grammars,
      n: fc.integer({ min: 1, max: 3 }),
      max_tokens: fc.integer({ min: 0, max: 20 }),
      max_completion_tokens: fc.integer({ min: 0, max: 20 }),
      logit_bias: fc.dictionary(fc.nat(259).map(String), fc.integer({ min: -100, max: 100 }), { maxKeys: 3 }),
      stop_token_ids: fc.array(fc.nat(259), { maxLength: 2 }),
      stream: fc.boolean(),
      conversation: few('c1', 'c2'),
      draft: text,
      prompt: textsOrIds,
      input: fc.oneof(textsOrIds, fc.array(item, { minLength: 1, maxLength: 3 })),
      suffix: few(null, ''),
      best_of: few(null, 3),
      logprobs: few<unknown>(null, true, 0, 3),
      dimensions: few(null),
    }).map(([name, likely]) => [name, (bySchema) => fc.oneof({ weight: 8, arbitrary: likely }, bySchema)]),
  );

/** Body without fields that contradict others, which chance seldom gets right. */
export function withoutContradictions(body: AnyJson): AnyJson {
  return {
    ...body,
    ...('stream_options' in body && { stream: true }),
    ...('top_logprobs' in body && { logprobs: true }),
    ...('max_completion_tokens' in body && { max_tokens: body.max_completion_tokens }),
    ...('structured_outputs' in body && { response_format: null, tools: null, tool_choice: null }),
    ...('content' in body && { prompt: null, messages: null }),
    ...('response_format' in body && { tools: null, tool_choice: null }),
  };
}
