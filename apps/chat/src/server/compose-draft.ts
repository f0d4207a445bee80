import type { ServerClient } from './server-client.ts';
import type { SentMessage } from './stream-answer.ts';

export interface Draft {
  readonly model: string | undefined;
  readonly conversation: string;
  readonly messages: readonly SentMessage[];
  readonly draft: string;
  /** Grows with each draft of a conversation: one that arrives late is known by it. */
  readonly revision: number;
}

export interface ReadDraft {
  readonly isSuperseded: boolean;
  /** Of conversation and draft, computed. */
  readonly readTokens: number;
  /** Of the last word, which may go on. */
  readonly heldBackTokens: number;
}

/**
 * Has the server read a message that is not finished, so that the answer begins sooner.
 * @throws ServerError; the reason of the signal
 */
export async function composeDraft(client: ServerClient, draft: Draft, signal: AbortSignal): Promise<ReadDraft> {
  const answer = await client.json<{ superseded: boolean; prompt_tokens: number; held_back_tokens: number }>(
    '/v1/compose',
    { method: 'POST', body: draft, signal },
  );
  return {
    isSuperseded: answer.superseded,
    readTokens: answer.prompt_tokens - answer.held_back_tokens,
    heldBackTokens: answer.held_back_tokens,
  };
}
