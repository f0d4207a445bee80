import type { Conversation, ConversationSummary, MessageRole, StoredMessage } from './conversation.ts';
import type { ConversationRow, MessageRow, SummaryRow } from './database/statements.ts';

export function readSummary({ id, title, model, createdAt, updatedAt }: SummaryRow): ConversationSummary {
  return { id, title, model, createdAt, updatedAt };
}

export function readConversation(row: ConversationRow, messages: readonly MessageRow[]): Conversation {
  const { systemPrompt, settings } = row;
  return { ...readSummary(row), systemPrompt, settings: JSON.parse(settings), messages: messages.map(readMessage) };
}

export function readMessage({ id, role, content, reasoning, tool, stats, createdAt }: MessageRow): StoredMessage {
  return {
    id,
    role: role as MessageRole,
    content,
    reasoning,
    tool: tool === null ? null : JSON.parse(tool),
    stats: stats === null ? null : JSON.parse(stats),
    createdAt,
  };
}
