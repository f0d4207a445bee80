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

/** One SQL statement: what it takes, and the rows that it gives. */
interface Query<Values extends unknown[], Row = never> {
  get(...values: Values): Row | undefined;
  all(...values: Values): Row[];
  run(...values: Values): unknown;
}

/** Every query of the store. Values are always bound, never part of the text. */
export function prepareStatements(database: Database.Database) {
  const query = <Values extends unknown[], Row = never>(text: string) => database.prepare(text) as Query<Values, Row>;
  return {
    /** The conversations that were last changed before this change. */
    list: query<[change: number, limit: number], SummaryRow>(
      `SELECT ${summary} FROM conversations WHERE change < ? ORDER BY change DESC LIMIT ?`,
    ),
    find: query<[id: string], SummaryRow>(`SELECT ${summary} FROM conversations WHERE id = ?`),
    get: query<[id: string], ConversationRow>(
      `SELECT ${summary}, system_prompt AS systemPrompt, settings FROM conversations WHERE id = ?`,
    ),
    messages: query<[conversation: number], MessageRow>(
      `SELECT id, role, content, reasoning, tool, stats, created_at AS createdAt FROM messages
       WHERE conversation = ? ORDER BY position`,
    ),
    create: query<[ConversationColumns & { readonly id: string; readonly now: number }]>(
      `INSERT INTO conversations (id, title, model, system_prompt, settings, created_at, updated_at, change)
       VALUES (
         @id, coalesce(@title, ''), nullif(@model, ''), coalesce(@systemPrompt, ''), coalesce(@settings, '{}'),
         @now, @now, ${nextChange}
       )`,
    ),
    /** What is null stays as it is. */
    update: query<[ConversationColumns & { readonly key: number; readonly now: number }]>(
      `UPDATE conversations SET
         title = coalesce(@title, title), model = nullif(coalesce(@model, model), ''),
         system_prompt = coalesce(@systemPrompt, system_prompt), settings = coalesce(@settings, settings),
         updated_at = @now, change = ${nextChange}
       WHERE key = @key`,
    ),
    touch: query<[now: number, key: number]>(
      `UPDATE conversations SET updated_at = ?, change = ${nextChange} WHERE key = ?`,
    ),
    delete: query<[key: number]>('DELETE FROM conversations WHERE key = ?'),
    total: query<[conversation: number], { readonly numMessages: number; readonly size: number }>(
      `SELECT count(*) AS numMessages, coalesce(sum(size), 0) AS size FROM messages WHERE conversation = ?`,
    ),
    append: query<
      [
        MessageColumns & {
          readonly conversation: number;
          readonly position: number;
          readonly id: string;
          readonly createdAt: number;
        },
      ]
    >(
      `INSERT INTO messages (conversation, position, id, role, content, reasoning, tool, stats, size, created_at)
       VALUES (@conversation, @position, @id, @role, @content, @reasoning, @tool, @stats, @size, @createdAt)`,
    ),
    cut: query<[conversation: number, position: number]>(
      'DELETE FROM messages WHERE conversation = ? AND position >= ?',
    ),
    mentions: query<[conversation: number, pattern: string], 1>(
      `SELECT 1 FROM messages WHERE conversation = ? AND content LIKE ? ESCAPE '\\' LIMIT 1`,
    ),
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
