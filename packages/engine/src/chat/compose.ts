import { type ChatMessage, finishedPart } from '@hearth/chat-format';
import type { Model } from '../model/model.ts';
import type { PrefillResult, Session } from '../session/session.ts';
import type { RequestOptions } from '../session/work.ts';
import type { RenderChatOptions } from './render-chat.ts';

export interface ComposeOptions extends RequestOptions {
  /** That of the conversation, which `chat` is given afterwards. */
  readonly session: Session;
  /** How the messages are rendered: tools, variables of the template. */
  readonly template?: Omit<RenderChatOptions, 'signal' | 'addGenerationPrompt' | 'continueFinalMessage'>;
}

/**
 * Computes the user's next message while it is written, so that `chat` answers sooner. It only saves work: whatever was
 * composed, `chat` brings the session to the tokens of the message that was really sent.
 *
 * @param draft what there is of the message; its last word is left out, as its tokens are likely to change
 * @throws as `chat` before it generates, and as `Session.prefill`
 */
export async function compose(
  model: Model,
  messages: readonly ChatMessage[],
  draft: string,
  { session, template, ...request }: ComposeOptions,
): Promise<PrefillResult> {
  const all = [...messages, { role: 'user', content: finishedPart(draft) }];
  const { signal } = request;
  const tokenIds = await model.renderChat(all, { ...template, continueFinalMessage: true, signal });
  session.replaceTokens(tokenIds);
  return session.prefill(request);
}
