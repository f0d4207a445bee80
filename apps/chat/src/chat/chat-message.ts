import type { AnswerUsage, SentMessage } from '../server/stream-answer.ts';

/** How an answer came about. */
export interface AnswerStats extends AnswerUsage {
  /** From sending to the first text, in milliseconds; null without any. */
  readonly firstTokenMs: number | null;
  /** After the first; null with fewer than two. */
  readonly tokensPerSecond: number | null;
}

export interface ChatMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /** What the model thought before it answered. */
  readonly reasoning?: string;
  readonly stats?: AnswerStats;
  /** Why the answer is not whole, where it is not. */
  readonly ending?: 'stopped' | 'length' | 'failed';
  /** What went wrong. */
  readonly problem?: string;
}

/** What the model is to see of a conversation. */
export function sentMessages(systemPrompt: string, messages: readonly ChatMessage[]): SentMessage[] {
  const system: SentMessage[] = systemPrompt.trim() === '' ? [] : [{ role: 'system', content: systemPrompt }];
  return [...system, ...messages.map(({ role, content }) => ({ role, content }))];
}
