import { InvalidArgumentError } from '@hearth/core';
import type { JsonText } from './json/json-text.ts';

/** A part of a message's content. Hearth runs text models, so text is the only kind. */
export interface TextPart {
  type: 'text';
  text: string;
}

/** A call of a tool by the assistant. */
export interface ToolCall {
  id?: string;
  type?: 'function';
  function: {
    name: string;
    /** JSON text, as OpenAI's interface has it, or the object itself. */
    arguments: string | Readonly<Record<string, unknown>> | JsonText;
  };
}

/** One message of a chat. Members beyond these (`name`, `tool_call_id`, `reasoning_content`, ...) reach the template. */
export interface ChatMessage {
  role: string;
  /** `null` and absent stand for no text, as beside tool calls. Text parts are joined with line feeds. */
  content?: string | readonly TextPart[] | null;
  tool_calls?: readonly ToolCall[] | null;
  [member: string]: unknown;
}

/**
 * Checks messages and brings their content into the one form that templates expect: a string, empty if there is none.
 *
 * @throws InvalidArgumentError naming `messages[i]`
 */
export function normalizeMessages(messages: unknown): ChatMessage[] {
  if (!Array.isArray(messages)) throw wrong('messages', 'a list', messages);
  if (messages.length === 0) throw wrong('messages', 'a list of at least one message', messages);
  return Array.from(messages, (message: unknown, index) => {
    const place = `messages[${index}]`;
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      throw wrong(place, 'an object', message);
    const { role, content, tool_calls: toolCalls } = message as Record<string, unknown>;
    if (typeof role !== 'string' || role === '') throw wrong(`${place}.role`, 'the name of a role', role);
    const normalized = { ...message, role, content: textOf(content, `${place}.content`) } as ChatMessage;
    if (toolCalls === null) delete normalized.tool_calls;
    else if (toolCalls !== undefined) checkToolCalls(toolCalls, `${place}.tool_calls`);
    return normalized;
  });
}

function textOf(content: unknown, place: string): string {
  if (content === undefined || content === null) return '';
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) throw wrong(place, 'a string, a list of parts or null', content);
  const texts = Array.from(content, (part: unknown, index) => {
    const partPlace = `${place}[${index}]`;
    if (typeof part !== 'object' || part === null) throw wrong(partPlace, 'an object', part);
    const { type, text } = part as Record<string, unknown>;
    if (type !== 'text')
      throw wrong(`${partPlace}.type`, '"text", the only kind of part that a text model takes', type);
    if (typeof text !== 'string') throw wrong(`${partPlace}.text`, 'a string', text);
    return text;
  });
  return texts.join('\n');
}

function checkToolCalls(toolCalls: unknown, place: string): void {
  if (!Array.isArray(toolCalls)) throw wrong(place, 'a list', toolCalls);
  toolCalls.forEach((call: unknown, index) => {
    const callPlace = `${place}[${index}]`;
    if (typeof call !== 'object' || call === null) throw wrong(callPlace, 'an object', call);
    const { function: called } = call as Record<string, unknown>;
    if (typeof called !== 'object' || called === null) throw wrong(`${callPlace}.function`, 'an object', called);
    const { name, arguments: given } = called as Record<string, unknown>;
    if (typeof name !== 'string') throw wrong(`${callPlace}.function.name`, 'a string', name);
    const isArguments =
      typeof given === 'string' || (typeof given === 'object' && given !== null && !Array.isArray(given));
    if (given !== undefined && !isArguments)
      throw wrong(`${callPlace}.function.arguments`, 'JSON text or an object', given);
  });
}

function wrong(place: string, expected: string, value: unknown): InvalidArgumentError {
  const shown = value === undefined ? 'absent' : (JSON.stringify(value)?.slice(0, 80) ?? typeof value);
  return new InvalidArgumentError(`${place} must be ${expected}, but it is ${shown}.`, { details: { place } });
}
