import { InvalidArgumentError } from '@hearth/core';
import type { ToolCallStyle } from './tool-call-style.ts';

/** A tool as OpenAI's chat interface defines it. */
export interface ToolDefinition {
  type: 'function';
  function: {
    name: string;
    description?: string;
    /** JSON schema of an object. Absent: the tool takes no arguments. */
    parameters?: Readonly<Record<string, unknown>> | null;
  };
}

/** Which call is forced: any of the tools, or one of them by name. */
export type ForcedToolChoice = 'required' | { name: string };

/** Text that calls one tool: `prefix`, JSON that follows `schema`, `suffix`. */
export interface ToolCallAlternative {
  name: string;
  prefix: string;
  /** JSON schema of the arguments. It stands alone, so that `$ref`s to `#/$defs/...` in it keep their meaning. */
  schema: Readonly<Record<string, unknown>>;
  suffix: string;
}

/** What an output must look like to be a call, for a constraint: one of the alternatives and nothing else. */
export interface ToolCallGrammar {
  alternatives: readonly ToolCallAlternative[];
  /** Text between two calls if more than one may come; otherwise absent. */
  separator?: string;
}

/** Options of `toolCallGrammar`. */
export interface ToolCallGrammarOptions {
  /**
   * Whether several calls may come. Default false. Has no effect for `llama3`, whose templates refuse turns with several
   * calls.
   */
  parallel?: boolean;
}

/** What the templates of a style write around the JSON of the arguments, so that forced calls look like those of training. */
const writing: Readonly<
  Record<ToolCallStyle, { begin: string; argumentsKey: string; end: string; separator: string | undefined }>
> = {
  hermes: { begin: '<tool_call>\n', argumentsKey: 'arguments', end: '}\n</tool_call>', separator: '\n' },
  llama3: { begin: '', argumentsKey: 'parameters', end: '}', separator: undefined },
};

/**
 * Describes the text of a call, as data for a constraint that enforces `tool_choice: 'required'` or a named tool. The
 * parser of the same style reads every such text as a call. It is the text after a reasoning block, if there is one.
 *
 * @throws InvalidArgumentError naming `tools[i]` that is no definition, or the tool that is chosen but not given
 */
export function toolCallGrammar(
  style: ToolCallStyle,
  tools: readonly ToolDefinition[],
  choice: ForcedToolChoice,
  options: ToolCallGrammarOptions = {},
): ToolCallGrammar {
  if (tools.length === 0) throw wrong('tools', 'a list of at least one tool, since a call is asked for', tools);
  const { begin, argumentsKey, end, separator } = writing[style];
  const names = new Set<string>();
  const all = tools.map((tool: unknown, index): ToolCallAlternative => {
    const { name, schema } = readTool(tool, `tools[${index}]`);
    if (names.has(name)) throw wrong(`tools[${index}].function.name`, 'unlike the names before it', name);
    names.add(name);
    const prefix = `${begin}{"name": ${JSON.stringify(name)}, "${argumentsKey}": `;
    return { name, prefix, schema, suffix: end };
  });
  const alternatives = choice === 'required' ? all : all.filter(({ name }) => name === choice.name);
  if (alternatives.length === 0) throw wrong('tool_choice', `one of ${[...names].join(', ')}`, choice);
  return { alternatives, ...(options.parallel === true && separator !== undefined && { separator }) };
}

function readTool(tool: unknown, place: string): { name: string; schema: Record<string, unknown> } {
  if (!isObject(tool)) throw wrong(place, 'an object', tool);
  if (tool.type !== 'function') throw wrong(`${place}.type`, '"function"', tool.type);
  const { function: definition } = tool;
  if (!isObject(definition)) throw wrong(`${place}.function`, 'an object', definition);
  const { name, parameters } = definition;
  if (typeof name !== 'string' || name === '') throw wrong(`${place}.function.name`, 'the name of a tool', name);
  if (parameters === undefined || parameters === null) {
    return { name, schema: { type: 'object', properties: {}, additionalProperties: false } };
  }
  if (!isObject(parameters)) throw wrong(`${place}.function.parameters`, 'a JSON schema', parameters);
  const { type = 'object' } = parameters;
  if (type !== 'object') throw wrong(`${place}.function.parameters.type`, '"object"', type);
  return { name, schema: { ...parameters, type } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrong(place: string, expected: string, value: unknown): InvalidArgumentError {
  // Integers above 2^53 are bigints, which JSON.stringify does not take.
  const text = JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member));
  const shown = value === undefined ? 'absent' : (text?.slice(0, 80) ?? typeof value);
  return new InvalidArgumentError(`${place} must be ${expected}, but it is ${shown}.`, { details: { place } });
}
