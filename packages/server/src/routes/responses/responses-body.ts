import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { generationFields, generationOptions } from '../../fields/generation-fields.ts';
import { reasoningBudgetField, reasoningEffortField } from '../../fields/reasoning-fields.ts';
import { refusedResponsesFields, refuseUnless } from '../../fields/refused-fields.ts';
import { structuredOutputsField, textFormatField } from '../../fields/response-format.ts';
import { flag, text, wholeFrom } from '../../fields/scalars.ts';
import { templateFields, templateOptions } from '../../fields/template-fields.ts';
import { checkToolChoice, functionFields, type ToolFields, toolChoiceOf } from '../../fields/tools.ts';
import type { ChatRequest } from '../../generation/start-chat.ts';
import type { RequestBody } from '../../http/route.ts';
import { inputField, inputMessages } from './input-items.ts';

const { n, max_tokens, stream_options, ...sharedFields } = generationFields;
const { chat_template_kwargs } = templateFields;
const logprobsInclude = 'message.output_text.logprobs';

const tool = z
  .object(
    {
      type: z.literal('function', { error: 'must be "function", the only type of tool here' }),
      ...functionFields,
    },
    { error: 'must be an object with type and name' },
  )
  .meta({ id: 'FlatTool' });

const fields = z.object({
  input: inputField,
  instructions: text('A system message before the input.', 2 ** 22),
  ...sharedFields,
  chat_template_kwargs,
  max_output_tokens: wholeFrom(0, Number.MAX_SAFE_INTEGER, 'Most tokens to make, thoughts included.'),
  top_logprobs: wholeFrom(0, 20, 'How many of the most probable tokens to name in each place.'),
  include: z
    .array(z.literal(logprobsInclude, { error: `must be "${logprobsInclude}", all that can be included here` }), {
      error: 'must be a list',
    })
    .nullish(),
  tools: z
    .array(tool, { error: 'must be a list of tools' })
    .max(512, { error: 'must have at most 512 tools' })
    .nullish(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), z.object({ type: z.literal('function'), name: z.string() })], {
      error: 'must be "none", "auto", "required", or {"type": "function", "name": ...}',
    })
    .nullish(),
  parallel_tool_calls: flag(
    'Whether several tools may be called at once. Default: true, but one when a call is required.',
  ),
  text: z
    .object(
      { format: textFormatField, ...refuseUnless({ verbosity: ['medium'] }) },
      { error: 'must be an object with a format' },
    )
    .nullish(),
  structured_outputs: structuredOutputsField,
  reasoning: z
    .object(
      {
        effort: reasoningEffortField,
        ...refuseUnless({ summary: ['auto'], generate_summary: ['auto'] }),
      },
      { error: 'must be an object with an effort' },
    )
    .nullish(),
  reasoning_budget: reasoningBudgetField,
  user: text('Accepted and not used.'),
  metadata: z
    .record(z.string(), z.string(), { error: 'must be an object of strings' })
    .meta({ description: 'Comes back with the answer.' })
    .nullish(),
  store: flag('Nothing is stored, whatever it says.'),
  ...refusedResponsesFields,
});

type Fields = z.output<typeof fields>;

/** Body of POST /v1/responses. */
export const responsesBody = fields
  .superRefine((body, context) => {
    const tools = toolsOf(body);
    const names = tools.map((tool) => tool.function.name);
    const twice = names.findIndex((name, index) => names.indexOf(name) < index);
    const path = ['tools', twice, 'name'];
    if (twice >= 0) context.addIssue({ code: 'custom', path, message: 'is the name of an earlier tool, too' });
    checkToolChoice({ tools }, choiceOf(body), context);
  })
  .meta({ id: 'ResponseRequest' });

export type ResponsesBody = RequestBody<Fields>;

/** What the body asks for, as a chat. */
export function readResponsesBody({ fields, json }: ResponsesBody): ChatRequest {
  const { format } = fields.text ?? {};
  const hasLogprobs = fields.include?.includes(logprobsInclude) || (fields.top_logprobs ?? 0) > 0;
  return {
    messages: inputMessages(json.input!, fields.instructions),
    tools: toolsOf(fields),
    toolsForTemplate: ((json.tools ?? []) as readonly Readonly<Record<string, LosslessJson>>[]).map(nestedTool),
    toolChoice: choiceOf(fields),
    parallelCalls: fields.parallel_tool_calls ?? undefined,
    format:
      format?.type === 'json_schema' ? { type: 'json_schema', json_schema: { ...format, name: format.name } } : format,
    formatField: 'text.format',
    structured: fields.structured_outputs,
    reasoningEffort: fields.reasoning?.effort,
    effortField: 'reasoning.effort',
    reasoningBudget: fields.reasoning_budget ?? undefined,
    ...templateOptions({ chat_template_kwargs: fields.chat_template_kwargs }, json),
    generate: {
      ...generationOptions({ ...fields, max_tokens: fields.max_output_tokens }),
      logprobs: hasLogprobs ? (fields.top_logprobs ?? 0) : undefined,
    },
    hasContentLogprobs: true,
    count: 1,
    cacheSalt: fields.cache_salt ?? undefined,
    conversation: undefined,
  };
}

function choiceOf(body: Fields) {
  const { tool_choice: choice } = body;
  const nested = typeof choice === 'object' && choice ? { type: 'function' as const, function: choice } : choice;
  return toolChoiceOf(toolsOf(body), nested);
}

function toolsOf({ tools }: Fields): ToolFields[] {
  return (tools ?? []).map(({ type, ...definition }) => ({ type, function: definition }));
}

/** Templates know tools as chats have them. */
function nestedTool({ type, ...definition }: Readonly<Record<string, LosslessJson>>): LosslessJson {
  return { type: type!, function: definition };
}
