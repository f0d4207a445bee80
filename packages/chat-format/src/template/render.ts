import { HearthError, LimitExceededError } from '@hearth/core';
import { TemplateError } from '../chat-format-errors.ts';
import { Budget } from '../interpreter/budget.ts';
import { JsonTextObject } from '../interpreter/exact-values.ts';
import { createEnvironment } from '../interpreter/globals.ts';
import { PythonInterpreter } from '../interpreter/python-interpreter.ts';
import { ArrayValue, ObjectValue, type Statement, StringValue, type Value } from '../interpreter/runtime-values.ts';
import { readJson } from '../json/read-json.ts';
import { ControlGuard } from './control-guard.ts';
import { chooseSentinel, protect, type Segment, toSegments } from './control-words.ts';
import { LiteralFinder } from './literal-finder.ts';

/** What the worker is given for one render. */
export interface RenderInput {
  /** JSON object of the variables that others wrote: messages, tools, and whatever else the caller passes. */
  variables: string;
  /** Variables whose control words count, since they come from the model: `bos_token` and the like. */
  trusted: Readonly<Record<string, string>>;
  specialTokens: readonly string[];
  /** Cuts the text after the content of the last message, for the model to go on with it. */
  continueFinalMessage: boolean;
  /** Milliseconds since 1970 that `strftime_now` takes for now. */
  now: number;
  maxOutput: number;
}

/** A rendered chat, as one text and split into the template's control words and the rest. */
export interface RenderedChat {
  text: string;
  segments: Segment[];
}

/**
 * Renders a parsed template.
 *
 * Control words in texts of others are made harmless first: a sentinel goes inside each, and is taken out of the result
 * after that was split at the words that are still whole, which are the template's own.
 */
export function render(template: Statement, input: RenderInput): RenderedChat {
  const finder = new LiteralFinder(input.specialTokens);
  const [sentinel, endMark] = chooseMarks(input);
  const variables = readVariables(input.variables, (text) => protect(text, finder, sentinel));
  const budget = new Budget(input.maxOutput, input.variables.length);
  const final = input.continueFinalMessage ? markFinalContent(variables, endMark) : undefined;
  for (const [name, text] of Object.entries(input.trusted)) variables.set(name, new StringValue(text));

  const guard = new ControlGuard(finder, sentinel);
  let rendered = run(template, variables, new Date(input.now), budget, guard);
  if (final !== undefined) rendered = cutAfterMark(rendered, endMark, final.trailing);
  budget.checkOutput(rendered.length);
  return { text: rendered.replaceAll(sentinel, ''), segments: toSegments(rendered, finder, sentinel) };
}

/** Two characters that no input holds. Sources escape them as \uXXXX, so the values are looked at, not the JSON. */
function chooseMarks({ variables, trusted }: RenderInput): [string, string] {
  const texts: string[] = [...Object.values(trusted)];
  readJson(variables, 'variables', (text) => {
    texts.push(text);
    return text;
  });
  const sentinel = chooseSentinel(texts);
  const endMark = sentinel === undefined ? undefined : chooseSentinel([...texts, sentinel]);
  if (sentinel === undefined || endMark === undefined) {
    throw new TemplateError(
      'The messages hold every Unicode noncharacter from U+FDD0 to U+FDEF, so control words in them could not be marked. Take them out.',
    );
  }
  return [sentinel, endMark];
}

function readVariables(json: string, onString: (text: string) => string): Map<string, Value> {
  const object = readJson(json, 'variables', onString) as ObjectValue;
  const messages = object.value.get('messages');
  if (messages instanceof ArrayValue) for (const message of messages.value) readToolArguments(message, onString);
  return object.value;
}

/** Replaces arguments that are JSON text by their object, which prints as the text. Text that is no object stays text. */
function readToolArguments(message: Value, onString: (text: string) => string): void {
  const calls = message instanceof ObjectValue ? message.value.get('tool_calls') : undefined;
  for (const call of calls instanceof ArrayValue ? calls.value : []) {
    const called = call instanceof ObjectValue ? call.value.get('function') : undefined;
    const given = called instanceof ObjectValue ? called.value.get('arguments') : undefined;
    if (!(called instanceof ObjectValue && given instanceof StringValue)) continue;
    try {
      const value = readJson(given.value, 'arguments', onString);
      if (value instanceof ObjectValue) called.value.set('arguments', new JsonTextObject(value.value, given.value));
    } catch {
      // A model wrote these; what is no JSON is passed on as it is.
    }
  }
}

function run(
  template: Statement,
  variables: Map<string, Value>,
  now: Date,
  budget: Budget,
  guard: ControlGuard,
): string {
  try {
    const environment = createEnvironment(variables, now, budget);
    return new PythonInterpreter(environment, budget, guard).evaluate(template, environment).value as string;
  } catch (error) {
    throw typedError(error, guard);
  }
}

function typedError(error: unknown, guard: ControlGuard): HearthError {
  if (error instanceof TemplateError) {
    return new TemplateError(guard.plain(error.message), { details: error.details });
  }
  if (HearthError.isInstance(error)) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof RangeError) {
    // Stack overflow or a string longer than V8 holds.
    return new LimitExceededError(`The chat template needs more room than there is: ${message}.`, {
      details: { limit: 'depth' },
    });
  }
  return new TemplateError(`The chat template cannot be rendered with these messages: ${message}`, {
    details: { raisedByTemplate: false },
  });
}

/** Marks the end of the last message's content, before trailing white space, which the template may or may not trim. */
function markFinalContent(variables: Map<string, Value>, endMark: string): { trailing: string } {
  const messages = variables.get('messages') as ArrayValue;
  const message = messages.value.at(-1) as ObjectValue;
  const content = message.value.get('content') as StringValue;
  const body = content.value.trimEnd();
  const trailing = content.value.slice(body.length);
  message.value.set('content', new StringValue(body + endMark + trailing));
  return { trailing };
}

function cutAfterMark(rendered: string, endMark: string, trailing: string): string {
  const at = rendered.lastIndexOf(endMark);
  if (at < 0) {
    throw new TemplateError(
      'The last message cannot be continued, because the chat template does not print the end of its content.',
      { details: { raisedByTemplate: false } },
    );
  }
  const after = rendered.startsWith(trailing, at + 1) ? trailing : '';
  return rendered.slice(0, at).replaceAll(endMark, '') + after;
}
