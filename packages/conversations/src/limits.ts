import { InvalidArgumentError } from '@hearth/core';
import { type ConversationChanges, messageRoles, type NewMessage } from './conversation.ts';
import { ConversationTooLargeError } from './errors.ts';

/** Most characters (UTF-16 code units) of each text; JSON values are counted as they are written. */
export const conversationLimits = {
  title: 500,
  model: 500,
  systemPrompt: 262_144,
  settings: 65_536,
  content: 1_048_576,
  reasoning: 1_048_576,
  tool: 262_144,
  stats: 65_536,
  /** Messages of a conversation. */
  messages: 2000,
  /** All texts of its messages together. */
  allMessages: 4_194_304,
  /** A text that is searched for. */
  search: 200,
  /** Conversations of a page. */
  page: 100,
} as const;

type TextName = 'title' | 'model' | 'systemPrompt' | 'settings' | 'content' | 'reasoning' | 'tool' | 'stats';

/** The columns of what is given; null is what is not. A model of '' is none. Settings are JSON text. */
export interface ConversationColumns {
  readonly title: string | null;
  readonly model: string | null;
  readonly systemPrompt: string | null;
  readonly settings: string | null;
}

/** The columns of a message; `size` is the characters of all its texts. */
export interface MessageColumns {
  readonly role: string;
  readonly content: string;
  readonly reasoning: string | null;
  readonly tool: string | null;
  readonly stats: string | null;
  readonly size: number;
}

/** @throws InvalidArgumentError | ConversationTooLargeError */
export function checkedFields({ title, model, systemPrompt, settings }: ConversationChanges): ConversationColumns {
  return {
    title: title === undefined ? null : checkedText('title', title),
    model: model === undefined ? null : checkedText('model', model ?? ''),
    systemPrompt: systemPrompt === undefined ? null : checkedText('systemPrompt', systemPrompt),
    settings: settings === undefined ? null : checkedJson('settings', settings),
  };
}

/** @throws InvalidArgumentError | ConversationTooLargeError */
export function checkedMessage({ role, content, reasoning, tool, stats }: NewMessage): MessageColumns {
  if (!messageRoles.includes(role)) throw invalid('role', `must be one of ${messageRoles.join(', ')}`, role);
  const columns = {
    role,
    content: checkedText('content', content),
    reasoning: reasoning == null ? null : checkedText('reasoning', reasoning),
    tool: tool == null ? null : checkedJson('tool', tool),
    stats: stats == null ? null : checkedJson('stats', stats),
  };
  const texts = [columns.content, columns.reasoning, columns.tool, columns.stats];
  return { ...columns, size: texts.reduce((sum, text) => sum + (text?.length ?? 0), 0) };
}

/** @throws ConversationTooLargeError for more messages, or more text in them, than a conversation may have */
export function checkTotal(numMessages: number, size: number): void {
  const { messages, allMessages } = conversationLimits;
  if (numMessages <= messages && size <= allMessages) return;
  throw new ConversationTooLargeError(
    `A conversation may have ${messages} messages of ${allMessages} characters together, but this would be ${numMessages} of ${size}. Begin a new one.`,
    { details: { numMessages, size } },
  );
}

/** @throws InvalidArgumentError */
export function checkWhole(field: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  throw invalid(field, `must be a whole number ${range}`, value);
}

export function invalid(field: string, expected: string, received: unknown): InvalidArgumentError {
  return new InvalidArgumentError(`${field} ${expected}, got ${String(received).slice(0, 200)}.`, {
    details: { field },
  });
}

function checkedText(name: TextName, text: string): string {
  if (typeof text !== 'string') throw invalid(name, 'must be a text', typeof text);
  return checkLength(name, text);
}

function checkedJson(name: TextName, value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw invalid(name, 'must be a value of JSON', (error as Error).message);
  }
  if (text === undefined) throw invalid(name, 'must be a value of JSON', typeof value);
  return checkLength(name, text);
}

function checkLength(name: TextName, text: string): string {
  const most = conversationLimits[name];
  if (text.length <= most) return text;
  throw new ConversationTooLargeError(`${name} may have ${most} characters, but it has ${text.length}. Shorten it.`, {
    details: { field: name },
  });
}
