import { UnsupportedError } from '@hearth/core';
import type { Segment } from '@hearth/tokenizer';
import type { ModelTokenizer } from '../model/model.ts';

/** STUB until @hearth/chat-format lands. */
export interface ModelChatTemplate {
  render(
    messages: ChatMessages,
    options?: Omit<RenderChatOptions, 'signal'>,
  ): Promise<{ text: string; segments: readonly Segment[] }>;
  dispose(): Promise<void>;
}
export type ChatMessages = readonly { readonly role: string; readonly content: string }[];
export interface RenderChatOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Renders a conversation and encodes it: control tokens of the template as such, everything else as text. */
export async function renderChat(
  model: { readonly chatTemplate: ModelChatTemplate | null; readonly tokenizer: ModelTokenizer },
  messages: ChatMessages,
  options: RenderChatOptions,
): Promise<Int32Array> {
  if (model.chatTemplate === null) {
    throw new UnsupportedError(
      'This model has no chat template. Write the prompt as text, encode it with the tokenizer and generate from that.',
    );
  }
  const { segments } = await model.chatTemplate.render(messages, options);
  return model.tokenizer.encodeSegments(segments, { addBos: 'auto', signal: options.signal });
}
