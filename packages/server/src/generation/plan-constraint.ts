import { outputMarkers, type ToolCallAlternative, type ToolDefinition, toolCallGrammar } from '@hearth/chat-format';
import type { Constraint, ConstraintSource } from '@hearth/constraints';
import { HearthError } from '@hearth/core';
import type { GenerateOptions } from '@hearth/engine';
import type { ResponseFormat, StructuredOutputs } from '../fields/response-format.ts';
import type { ToolChoice, ToolFields } from '../fields/tools.ts';
import { badRequest } from '../http/api-error.ts';
import type { ServedModel } from '../models/served-model.ts';

export interface ConstraintRequest {
  readonly format?: ResponseFormat;
  /** The name of the field that `format` came in, such as `response_format`. */
  readonly formatField?: string;
  readonly structured?: StructuredOutputs;
  readonly tools?: readonly ToolFields[];
  readonly toolChoice?: ToolChoice;
  /** Whether several calls may come; undefined is up to us. */
  readonly parallelCalls?: boolean | undefined;
  readonly generate: Pick<GenerateOptions, 'ignoreEos'>;
}

export interface ConstraintPlan {
  readonly source: ConstraintSource;
  /** The field that asked for it. */
  readonly param: string;
  /** Whether every call in the text is a whole one, unless the limit of tokens cuts it off. */
  readonly callsAreCertain: boolean;
}

const anyObject = { type: 'object' };

/**
 * The one constraint that a request asks for, if any.
 * @throws ApiError 400 for fields that ask for different ones, and for calls that the model's style has no constraint for
 */
export function planConstraint(served: ServedModel, request: ConstraintRequest): ConstraintPlan | undefined {
  const plans = [formatPlan(request), structuredPlan(request), callPlan(served, request)].filter(
    (plan) => plan !== undefined,
  );
  if (plans.length > 1) {
    const [first, second] = plans;
    throw badRequest(
      second!.param,
      `${second!.param} cannot be combined with ${first!.param}: each says what the text is.`,
    );
  }
  const [plan] = plans;
  if (plan && request.generate.ignoreEos) {
    throw badRequest('ignore_eos', `ignore_eos cannot be combined with ${plan.param}, which says where the text ends.`);
  }
  const mayCall = (request.tools?.length ?? 0) > 0 && request.toolChoice !== 'none';
  if (plan && mayCall && !plan.callsAreCertain) {
    throw badRequest(
      plan.param,
      `${plan.param} leaves no room for calls of tools; set tool_choice to "none" or leave tools out.`,
    );
  }
  return plan;
}

/** @throws ApiError 400 naming the field, for a schema or grammar that cannot be compiled */
export async function compileConstraint(
  served: ServedModel,
  { source, param }: ConstraintPlan,
  signal: AbortSignal,
): Promise<Constraint> {
  try {
    return await served.constraints.compile(source, { signal });
  } catch (error) {
    if (!HearthError.isInstance(error) || !['constraint', 'invalid_argument'].includes(error.code)) throw error;
    const place = source.kind === 'tags' ? 'tools' : param;
    throw badRequest(place, `${place}: ${error.message}`, 'invalid_constraint');
  }
}

function formatPlan({ format, formatField = 'response_format' }: ConstraintRequest): ConstraintPlan | undefined {
  if (format?.type === 'json_object') {
    return { source: { kind: 'json' }, param: formatField, callsAreCertain: false };
  }
  if (format?.type !== 'json_schema') return undefined;
  const source = { kind: 'json-schema', schema: format.json_schema.schema } as const;
  return { source, param: formatField, callsAreCertain: false };
}

function structuredPlan({ structured }: ConstraintRequest): ConstraintPlan | undefined {
  if (!structured) return undefined;
  return { source: structuredSource(structured), param: 'structured_outputs', callsAreCertain: false };
}

/** What `structured_outputs` asks for, also without a chat around it. */
export function structuredSource(structured: NonNullable<StructuredOutputs>): ConstraintSource {
  const { json, grammar, choice } = structured;
  if (json) return { kind: 'json-schema', schema: json };
  if (typeof grammar === 'string') return { kind: 'grammar', grammar };
  if (choice) return { kind: 'choice', choices: choice };
  return { kind: 'json' };
}

function callPlan(served: ServedModel, request: ConstraintRequest): ConstraintPlan | undefined {
  const { tools = [], toolChoice = 'none', parallelCalls } = request;
  const style = served.toolCallStyle;
  if (tools.length === 0 || toolChoice === 'none' || style === undefined) return undefined;
  const { alternatives } = toolCallGrammar(
    style,
    tools as readonly ToolDefinition[],
    toolChoice === 'auto' ? 'required' : toolChoice,
  );
  if (toolChoice !== 'auto') {
    const tags = alternatives.map(({ prefix, schema, suffix }) => ({ begin: prefix, schema, end: suffix }));
    // Free text follows where more calls may follow, so one call is the rule.
    const stopAfterFirst = !(toolChoice === 'required' && parallelCalls === true && style === 'hermes');
    const triggers = [commonPrefix(tags.map(({ begin }) => begin))];
    const source = { kind: 'tags', triggers, tags, atLeastOne: true, stopAfterFirst } as const;
    return { source, param: 'tool_choice', callsAreCertain: true };
  }
  const isStrict = tools.some((tool) => tool.function.strict);
  if (!isStrict && (parallelCalls !== false || style !== 'hermes')) return undefined;
  if (style !== 'hermes') {
    throw badRequest(
      'tools',
      'strict tools need tool_choice "required" or a named tool with this model, as its calls have no marker to begin with.',
    );
  }
  const source: ConstraintSource = {
    kind: 'tags',
    triggers: outputMarkers({ toolCallStyle: style }).slice(0, 1),
    tags: alternatives.map((call, index) => autoTag(call, tools[index]!)),
    stopAfterFirst: parallelCalls === false,
  };
  return { source, param: 'tools', callsAreCertain: true };
}

function autoTag({ prefix, schema, suffix }: ToolCallAlternative, tool: ToolFields) {
  return { begin: prefix, schema: tool.function.strict ? schema : anyObject, end: suffix };
}

function commonPrefix(texts: readonly string[]): string {
  const [first = ''] = texts;
  let length = first.length;
  while (!texts.every((text) => text.startsWith(first.slice(0, length)))) length--;
  return first.slice(0, length);
}
