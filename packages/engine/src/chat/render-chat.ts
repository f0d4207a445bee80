import type { ChatMessage, ChatTemplate, RenderRequest } from '@hearth/chat-format';
import type { HearthError } from '@hearth/core';
import type { ModelTokenizer } from '../model/model.ts';

/** The public face of a chat template, so that tests can have one without a worker. */
export type ModelChatTemplate = Pick<ChatTemplate, keyof ChatTemplate>;

/** Everything of a render but its messages: tools, variables, how it ends, a signal. */
export type RenderChatOptions = Omit<RenderRequest, 'messages'>;

/** A chat template, or why there is none that works. */
export interface ChatFormat {
  readonly template: ModelChatTemplate | null;
  /** What rendering throws without one: `NoChatTemplateError`, or an `InvalidModelError` that says what is wrong with it. */
  readonly problem: HearthError | null;
}

/**
 * Renders a conversation and encodes it: what the template writes as control words become control tokens, everything that
 * people wrote is text. Ends with the beginning of the assistant's turn unless told otherwise.
 */
export async function renderChat(
  { template, problem }: ChatFormat,
  tokenizer: ModelTokenizer,
  messages: readonly ChatMessage[],
  options: RenderChatOptions,
): Promise<Int32Array> {
  if (template === null) throw problem!;
  const { addGenerationPrompt = !options.continueFinalMessage, signal } = options;
  const { segments } = await template.render({ ...options, messages, addGenerationPrompt });
  return tokenizer.encodeSegments(segments, { addBos: 'auto', signal });
}
