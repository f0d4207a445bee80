import type Database from 'better-sqlite3';
import type { ConversationColumns, MessageColumns } from '../limits.ts';

export interface SummaryRow {
  readonly key: number;
  /** Of its last change; a later one has a larger number. */
  readonly change: number;
  readonly id: string;
  readonly title: string;
  readonly model: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ConversationRow extends SummaryRow {
  readonly systemPrompt: string;
  readonly settings: string;
}

export interface MessageRow extends Omit<MessageColumns, 'size'> {
  readonly id: string;
  readonly createdAt: number;
}

const summary = 'key, change, id, title, model, created_at AS createdAt, updated_at AS updatedAt';
const nextChange = '(SELECT coalesce(max(change), 0) + 1 FROM conversations)';

/** Every query of the store. Values are always bound, never part of the text. */
export function prepareStatements(database: Database.Database) {
  return {
    /** The conversations that were last changed before this change. */
    list: database.prepare<[change: number, limit: number], SummaryRow>(
      `SELECT ${summary} FROM conversations WHERE change < ? ORDER BY change DESC LIMIT ?`,
    ),
    find: database.prepare<[id: string], SummaryRow>(`SELECT ${summary} FROM conversations WHERE id = ?`),
    get: database.prepare<[id: string], ConversationRow>(
      `SELECT ${summary}, system_prompt AS systemPrompt, settings FROM conversations WHERE id = ?`,
    ),
    messages: database.prepare<[conversation: number], MessageRow>(
      `SELECT id, role, content, reasoning, tool, stats, created_at AS createdAt FROM messages
       WHERE conversation = ? ORDER BY position`,
    ),
    create: database.prepare<[ConversationColumns & { readonly id: string; readonly now: number }], void>(
      `INSERT INTO conversations (id, title, model, system_prompt, settings, created_at, updated_at, change)
       VALUES (
         @id, coalesce(@title, ''), nullif(@model, ''), coalesce(@systemPrompt, ''), coalesce(@settings, '{}'),
         @now, @now, ${nextChange}
       )`,
    ),
    /** What is null stays as it is. */
    update: database.prepare<[ConversationColumns & { readonly key: number; readonly now: number }], void>(
      `UPDATE conversations SET
         title = coalesce(@title, title), model = nullif(coalesce(@model, model), ''),
         system_prompt = coalesce(@systemPrompt, system_prompt), settings = coalesce(@settings, settings),
         updated_at = @now, change = ${nextChange}
       WHERE key = @key`,
    ),
    touch: database.prepare<[now: number, key: number], void>(
      `UPDATE conversations SET updated_at = ?, change = ${nextChange} WHERE key = ?`,
    ),
    delete: database.prepare<[key: number], void>('DELETE FROM conversations WHERE key = ?'),
    total: database.prepare<[conversation: number], { readonly numMessages: number; readonly size: number }>(
      `SELECT count(*) AS numMessages, coalesce(sum(size), 0) AS size FROM messages WHERE conversation = ?`,
    ),
    append: database.prepare<
      [
        MessageColumns & {
          readonly conversation: number;
          readonly position: number;
          readonly id: string;
          readonly createdAt: number;
        },
      ],
      void
    >(
      `INSERT INTO messages (conversation, position, id, role, content, reasoning, tool, stats, size, created_at)
       VALUES (@conversation, @position, @id, @role, @content, @reasoning, @tool, @stats, @size, @createdAt)`,
    ),
    cut: database.prepare<[conversation: number, position: number], void>(
      'DELETE FROM messages WHERE conversation = ? AND position >= ?',
    ),
    mentions: database.prepare<[conversation: number, pattern: string], 1>(
      `SELECT 1 FROM messages WHERE conversation = ? AND content LIKE ? ESCAPE '\\' LIMIT 1`,
    ),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
