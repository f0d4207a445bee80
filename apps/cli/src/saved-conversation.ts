import { createReadStream } from 'node:fs';
import { writeAside } from '@hearth/checkpoint';
import { HearthError } from '@hearth/core';
import type { Model, Session } from '@hearth/engine';
import { readText } from './terminal/standard-input.ts';

export type Message = {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
};

/** A conversation cannot be written, or its file does not hold one. */
export class ConversationFileError extends HearthError {
  constructor(path: string, problem: string, cause?: unknown) {
    super('conversation_file', `${path}: ${problem}.`, { details: { path }, cause });
  }
}

export interface LoadedConversation {
  readonly messages: readonly Message[];
  /** With what was computed of them; undefined when that cannot be used here, for the reason in `problem`. */
  readonly session: Session | undefined;
  readonly problem: string | undefined;
}

/** What was computed of the conversation in `path`. */
export function sessionPath(path: string): string {
  return `${path}.session`;
}

/**
 * Writes the messages to `path`, as JSON that any model can go on with, and beside it what this one has computed of them.
 * @throws ConversationFileError | SessionFileError | AbortError
 */
export async function saveConversation(
  path: string,
  messages: readonly Message[],
  session: Session,
  signal: AbortSignal,
): Promise<void> {
  const json = `${JSON.stringify({ messages }, null, 2)}\n`;
  try {
    await writeAside(path, (sink) => sink.write(Buffer.from(json)));
  } catch (error) {
    throw new ConversationFileError(path, `it could not be written: ${(error as Error).message}`, error);
  }
  await session.save(sessionPath(path), { signal });
}

/**
 * Reads what `saveConversation` wrote. Only the messages must be right: the rest can be computed again.
 * @throws ConversationFileError | AbortError
 */
export async function loadConversation(path: string, model: Model, signal: AbortSignal): Promise<LoadedConversation> {
  const messages = await readMessages(path);
  try {
    return { messages, session: await model.loadSession(sessionPath(path), { signal }), problem: undefined };
  } catch (error) {
    if (!HearthError.isInstance(error) || signal.aborted) throw error;
    return { messages, session: undefined, problem: error.message };
  }
}

async function readMessages(path: string): Promise<Message[]> {
  let json: unknown;
  try {
    json = JSON.parse(await readText(createReadStream(path), path));
  } catch (error) {
    throw new ConversationFileError(path, `it could not be read: ${(error as Error).message}`, error);
  }
  const messages = (json as { messages?: unknown } | null)?.messages;
  if (Array.isArray(messages) && messages.every(isMessage)) return messages;
  throw new ConversationFileError(path, 'expected {"messages": [...]} with a role and a content in each');
}

function isMessage(value: unknown): value is Message {
  const { role, content } = (value ?? {}) as Partial<Message>;
  return ['system', 'user', 'assistant'].includes(role!) && typeof content === 'string';
}
