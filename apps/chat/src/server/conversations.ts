import type { AnswerStats, ChatMessage } from '../chat/chat-message.ts';
import type { ChatFields } from '../chat/chat-state.ts';
import { readSampling } from '../chat/sampling.ts';
import type { ServerClient } from './server-client.ts';

export interface ConversationSummary {
  readonly id: string;
  readonly title: string;
  /** Seconds since 1970. */
  readonly updatedAt: number;
}

export interface ConversationPage {
  readonly conversations: readonly ConversationSummary[];
  /** Begins the next page. */
  readonly next: string | undefined;
}

export interface StoredConversation {
  readonly id: string;
  readonly fields: ChatFields;
  readonly messages: readonly ChatMessage[];
}

interface SummaryJson {
  readonly id: string;
  readonly title: string;
  readonly updated_at: number;
}

interface MessageJson {
  readonly role: string;
  readonly content: string;
  readonly reasoning?: string | null;
  readonly stats?: Readonly<Record<string, unknown>> | null;
}

interface ConversationJson extends SummaryJson {
  readonly model: string | null;
  readonly system_prompt: string;
  readonly settings: unknown;
  readonly messages: readonly MessageJson[];
}

const path = '/v1/conversations';

/** The conversations that the server keeps. All calls may throw a ServerError; with status 404 where it keeps none. */
export class StoredConversations {
  readonly #client: ServerClient;

  constructor(client: ServerClient) {
    this.#client = client;
  }

  /** The last changed first; with `search`, those that contain it. */
  async list({ before, search, signal }: { before?: string; search?: string; signal?: AbortSignal } = {}) {
    const query = new URLSearchParams({ ...(before && { before }), ...(search && { search }) });
    const answer = await this.#client.json<{ data: SummaryJson[]; next?: string | null }>(`${path}?${query}`, {
      signal,
    });
    const page: ConversationPage = { conversations: answer.data.map(readSummary), next: answer.next ?? undefined };
    return page;
  }

  async get(id: string, signal?: AbortSignal): Promise<StoredConversation> {
    const json = await this.#client.json<ConversationJson>(pathOf(id), { signal });
    return {
      id: json.id,
      fields: {
        title: json.title,
        model: json.model ?? undefined,
        systemPrompt: json.system_prompt,
        sampling: readSampling(json.settings),
      },
      messages: json.messages.filter(({ role }) => role === 'user' || role === 'assistant').map(readMessage),
    };
  }

  /** @returns its id */
  async create(fields: ChatFields): Promise<string> {
    const { id } = await this.#client.json<SummaryJson>(path, { method: 'POST', body: writeFields(fields) });
    return id;
  }

  async update(id: string, fields: Partial<ChatFields>): Promise<void> {
    await this.#client.ask(pathOf(id), { method: 'PATCH', body: writeFields(fields) });
  }

  /** Adds a message at the end, which is to be at `index`: a ServerError with status 409 where another one is there. */
  async append(id: string, index: number, message: ChatMessage): Promise<void> {
    await this.#client.ask(`${pathOf(id)}/messages`, { method: 'POST', body: { ...writeMessage(message), index } });
  }

  /** Puts these messages into the place of all from `index` on. */
  async replaceFrom(id: string, index: number, messages: readonly ChatMessage[]): Promise<void> {
    const body = { messages: messages.map(writeMessage) };
    await this.#client.ask(`${pathOf(id)}/messages/${index}`, { method: 'PUT', body });
  }

  async delete(id: string): Promise<void> {
    await this.#client.ask(pathOf(id), { method: 'DELETE' });
  }
}

function pathOf(id: string): string {
  return `${path}/${encodeURIComponent(id)}`;
}

function readSummary({ id, title, updated_at: updatedAt }: SummaryJson): ConversationSummary {
  return { id, title, updatedAt };
}

function writeFields({ title, model, systemPrompt, sampling }: Partial<ChatFields>) {
  return { title, model, system_prompt: systemPrompt, settings: sampling };
}

/** Numbers and the ending lie together in what the server keeps as statistics. */
function readMessage({ role, content, reasoning, stats }: MessageJson): ChatMessage {
  const { ending, problem, ...numbers } = (stats ?? {}) as Partial<AnswerStats> &
    Pick<ChatMessage, 'ending' | 'problem'>;
  return {
    role: role as ChatMessage['role'],
    content,
    ...(reasoning && { reasoning }),
    ...(numbers.completionTokens !== undefined && { stats: numbers as AnswerStats }),
    ...(ending && { ending }),
    ...(problem && { problem }),
  };
}

function writeMessage({ role, content, reasoning, stats, ending, problem }: ChatMessage) {
  const kept = { ...stats, ...(ending && { ending }), ...(problem && { problem }) };
  return { role, content, ...(reasoning && { reasoning }), ...(Object.keys(kept).length > 0 && { stats: kept }) };
}
