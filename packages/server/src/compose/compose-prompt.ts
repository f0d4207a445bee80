import { finishedPart, type LosslessJson } from '@hearth/chat-format';
import { ContextLengthError } from '@hearth/core';
import { commonPrefixLength } from '@hearth/engine';
import { type ChatToRender, renderChatPrompt } from '../generation/chat-prompt.ts';
import type { ServedModel } from '../models/served-model.ts';
import type { DraftPrompt } from './draft.ts';

export interface DraftToRender extends Pick<ChatToRender, 'messages' | 'variables'> {
  /** Null: none. */
  readonly tools: readonly LosslessJson[] | null;
  /** What the user has written of the next message. */
  readonly draft: string;
}

export interface ComposePrompt extends DraftPrompt {
  readonly tokenIds: Int32Array;
  /** Of the whole draft, with its unfinished end. */
  readonly numPromptTokens: number;
}

type Message = ChatToRender['messages'][number];

/**
 * The prompt of a conversation whose next message is being written, up to where the message is finished.
 * @throws ContextLengthError when the whole of it leaves no room for an answer
 * @throws as `renderChatPrompt`
 */
export async function composePrompt(
  served: ServedModel,
  { draft, messages, ...rest }: DraftToRender,
  signal: AbortSignal,
): Promise<ComposePrompt> {
  const render = async (earlier: readonly Message[], content: string, signal: AbortSignal) => {
    const all = [...earlier, { role: 'user', content }];
    const options = { ...rest, addGenerationPrompt: false, continueFinalMessage: true, signal };
    return (await renderChatPrompt(served, { ...options, messages: all })).tokenIds;
  };
  const [whole, finished] = await Promise.all([
    render(messages, draft, signal),
    render(messages, finishedPart(draft), signal),
  ]);
  const { contextLength } = served.model.info;
  if (whole.length >= contextLength) throw new ContextLengthError(whole.length + 1, contextLength);
  // A token at the cut may be another one now that more follows.
  const tokenIds = finished.subarray(0, commonPrefixLength(whole, finished));
  const fixed = messages.slice(0, numLeadingSystemMessages(messages));
  return {
    tokenIds,
    numPromptTokens: whole.length,
    findAnchor: async (signal) => {
      if (fixed.length === 0 && rest.tools === null) return 0;
      return commonPrefixLength(tokenIds, await render(fixed, '', signal));
    },
  };
}

function numLeadingSystemMessages(messages: readonly Message[]): number {
  const systemRoles: readonly (LosslessJson | undefined)[] = ['system', 'developer'];
  const index = messages.findIndex(({ role }) => !systemRoles.includes(role));
  return index < 0 ? messages.length : index;
}
