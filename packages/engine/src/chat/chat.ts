import type { ChatMessage } from '@hearth/chat-format';
import { InvalidArgumentError } from '@hearth/core';
import type { GenerateOptions } from '../generate/generate-options.ts';
import type { Generation } from '../generate/generation.ts';
import type { Model } from '../model/model.ts';
import type { Session } from '../session/session.ts';
import type { RenderChatOptions } from './render-chat.ts';

export interface ChatOptions extends GenerateOptions {
  /**
   * The session that holds the conversation so far. What it shares with the new prompt stays in the cache, so a turn costs
   * only its new tokens. Without one the turn has a session of its own, which is gone when it ends.
   */
  readonly session?: Session;
  /** `cacheSalt` of the session that a turn without one has. */
  readonly cacheSalt?: string;
  /** How the messages are rendered: tools, variables of the template. */
  readonly template?: Omit<RenderChatOptions, 'signal'>;
}

/**
 * Answers a conversation: renders the messages, brings the session to exactly these tokens, keeping what it has in common
 * with them, and generates.
 *
 * @throws as `Model.renderChat`
 * @throws ContextLengthError when the conversation does not fit
 * @throws AnchorError when the session's fixed beginning differs from that of the conversation
 * @throws InvalidArgumentError when the session is one of another model, and for options that make no sense
 * @throws SessionBusyError | DisposedError | AbortError
 */
export async function chat(
  model: Model,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): Promise<Generation> {
  const { session, cacheSalt, template, ...generate } = options;
  if (session && !model.owns(session)) {
    throw new InvalidArgumentError(
      'session belongs to another model, which has other tokens: give one that createSession of this model has made.',
    );
  }
  const tokenIds = await model.renderChat(messages, { ...template, signal: options.signal });
  if (session) {
    session.replaceTokens(tokenIds);
    return session.generate(generate);
  }
  const ownSession = model.createSession({ tokenIds, ...(cacheSalt !== undefined && { cacheSalt }) });
  try {
    const generation = ownSession.generate(generate);
    const end = () => ownSession.dispose();
    generation.result.then(end, end);
    return generation;
  } catch (error) {
    await ownSession.dispose();
    throw error;
  }
}
