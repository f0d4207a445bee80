import {
  type ChatMessage,
  type LosslessJson,
  type ReasoningBlock,
  reasoningBlockAfter,
  reasoningMarkers,
} from '@hearth/chat-format';
import { HearthError } from '@hearth/core';
import type { RenderChatOptions } from '@hearth/engine';
import { ApiError, badRequest } from '../http/api-error.ts';
import type { ServedModel } from '../models/served-model.ts';

export interface ChatToRender extends Omit<RenderChatOptions, 'addGenerationPrompt'> {
  /** Checked already, and lossless, as templates write numbers the way that they came. */
  readonly messages: readonly Readonly<Record<string, LosslessJson>>[];
  readonly addGenerationPrompt: boolean;
}

export interface ChatPrompt {
  readonly text: string;
  readonly tokenIds: Int32Array;
  /**
   * How it leaves the block in which the model thinks; undefined for a model without one, and where the template has written
   * all of it.
   */
  readonly reasoning: ReasoningBlock | undefined;
}

const knownRoles: readonly LosslessJson[] = ['system', 'user', 'assistant', 'tool'];

/**
 * Renders and encodes a conversation.
 *
 * @throws ApiError 400 for tools and roles of which the template takes no notice, and for a template that does not work
 * @throws as `Model.renderChat`
 */
export async function renderChatPrompt(served: ServedModel, chat: ChatToRender): Promise<ChatPrompt> {
  const { model, canReason } = served;
  const messages = chat.messages.map(templateMessage);
  const options = { ...chat, messages };
  if (!model.chatTemplate) throw await whyNoTemplate(served, options);
  if (chat.tools && !served.takesTools) {
    throw badRequest(
      'tools',
      'The chat template of the model knows no tools; leave them out or set tool_choice to "none".',
    );
  }
  const { text, segments } = await model.chatTemplate.render(options);
  checkCustomRoles(messages, text);
  const tokenIds = await model.tokenizer.encodeSegments(segments, { addBos: 'auto', signal: chat.signal });
  const continued = chat.continueFinalMessage ? textOf(messages.at(-1)!) : undefined;
  return { text, tokenIds, reasoning: canReason ? reasoningAfter(text, continued) : undefined };
}

function reasoningAfter(prompt: string, continued: string | undefined): ReasoningBlock | undefined {
  // A message that is gone on with is among its thoughts, or beyond them.
  if (continued !== undefined) {
    return continued.lastIndexOf(reasoningMarkers.begin) > continued.lastIndexOf(reasoningMarkers.end)
      ? 'open'
      : undefined;
  }
  // In this way templates tell a model not to think.
  return prompt.trimEnd().endsWith(reasoningMarkers.end) ? undefined : reasoningBlockAfter(prompt);
}

function textOf({ content }: ChatMessage): string {
  return typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('\n');
}

/** The model knows: it has none, or one that does not parse. */
async function whyNoTemplate({ model }: ServedModel, { messages, ...options }: RenderOptions): Promise<unknown> {
  const error = await model.renderChat(messages, options).then(
    () => new Error('A model without a chat template has rendered a chat.'),
    (reason) => reason,
  );
  if (!HearthError.isInstance(error) || error.code !== 'invalid_model') return error;
  const message =
    'The chat template of the model does not work, as the log of the server says. Use /v1/completions, or another model.';
  return new ApiError(message, { status: 400, param: 'messages', code: 'no_chat_template', cause: error });
}

type RenderOptions = Omit<ChatToRender, 'messages'> & { readonly messages: readonly ChatMessage[] };

/** What OpenAI calls developer is what templates call system. Null is absent. */
function templateMessage(message: Readonly<Record<string, LosslessJson>>): ChatMessage {
  const members = Object.entries(message).filter(([name, value]) => value !== null || name === 'content');
  const role = message.role === 'developer' ? 'system' : message.role;
  return { ...Object.fromEntries(members), role } as unknown as ChatMessage;
}

/** Templates leave out what they do not know, without a word. */
function checkCustomRoles(messages: readonly ChatMessage[], text: string): void {
  messages.forEach(({ role, content }, index) => {
    if (knownRoles.includes(role)) return;
    const parts = typeof content === 'string' ? [content] : (content ?? []).map((part) => part.text);
    if (parts.every((part) => text.includes(part.trim()))) return;
    const place = `messages[${index}].role`;
    throw badRequest(
      place,
      `${place}: the chat template of the model knows no role ${JSON.stringify(role)}; use system, user, assistant or tool.`,
    );
  });
}
