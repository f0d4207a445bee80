import {
  type ChatTemplateLimits,
  chooseChatTemplate,
  loadChatTemplate,
  NoChatTemplateError,
} from '@hearth/chat-format';
import type { ChatTemplateSources } from '@hearth/checkpoint';
import { InvalidModelError } from '@hearth/core';
import type { ModelTokenizer } from '../model/model.ts';
import type { ChatFormat } from './render-chat.ts';

/**
 * Loads the chat template of a checkpoint. A model without one, or whose template does not parse, still completes text: the
 * reason is kept for those who ask for a chat.
 *
 * @throws LimitExceededError | AbortError
 */
export async function loadChatFormat(
  sources: ChatTemplateSources,
  tokenizer: ModelTokenizer,
  options: { readonly limits?: ChatTemplateLimits | undefined; readonly signal?: AbortSignal | undefined },
): Promise<ChatFormat> {
  const { limits, signal } = options;
  const literal = (id: number | undefined) => tokenizer.specialTokens.find((token) => token.id === id)?.content;
  try {
    const source = chooseChatTemplate({
      jinjaFile: sources.jinjaFile,
      tokenizerConfig: { chat_template: sources.tokenizerConfig },
      ggufTemplate: sources.ggufTemplate,
      ggufNamedTemplates: sources.ggufNamedTemplates,
    });
    const template = await loadChatTemplate(source, {
      specialTokens: tokenizer.specialTokens.map(({ content }) => content),
      bosToken: literal(tokenizer.bosTokenId),
      eosToken: literal(tokenizer.eosTokenIds[0]),
      ...(limits && { limits }),
      signal,
    });
    return { template, problem: null };
  } catch (error) {
    if (error instanceof NoChatTemplateError || error instanceof InvalidModelError) {
      return { template: null, problem: error };
    }
    throw error;
  }
}
