import type { StoredConversations } from '../server/conversations.ts';
import type { ServerClient } from '../server/server-client.ts';
import { messageOf, ServerError } from '../server/server-error.ts';
import { type AnswerUsage, streamAnswer } from '../server/stream-answer.ts';
import { AnswerClock } from './answer-clock.ts';
import { type ChatMessage, sentMessages } from './chat-message.ts';
import { type ChatAction, type ChatFields, type ChatState, emptyChat, reduceChat } from './chat-state.ts';

/** Texts that come meanwhile are shown together: a page is drawn less often than a small model writes. */
const showEveryMs = 40;

/** One conversation that is open: asks, stops, and has the server keep what was said. */
export class ChatController {
  readonly #client: ServerClient;
  readonly #stored: StoredConversations | undefined;
  readonly #listeners = new Set<() => void>();
  #state: ChatState = emptyChat(randomKey());
  #running: RunningAnswer | undefined;
  /** What the server keeps of the conversations that were open on this page, by key. */
  readonly #kept = new Map<string, KeptConversation>();
  /** What is to be stored goes one after another. */
  #storing: Promise<void> = Promise.resolve();
  /** Is told when something was stored. */
  onStored: (id: string) => void = () => {};

  /** @param stored undefined where the server keeps no conversations */
  constructor(client: ServerClient, stored?: StoredConversations) {
    this.#client = client;
    this.#stored = stored;
  }

  get state(): ChatState {
    return this.#state;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins a new conversation, with model, system prompt and sampling of another one. */
  begin({ model, systemPrompt, sampling }: Omit<ChatFields, 'title'>): void {
    this.stop();
    const chat = { model, systemPrompt, sampling, key: randomKey(), id: undefined, messages: [] };
    this.#dispatch({ type: 'opened', chat });
  }

  /** Has the page say what went wrong. */
  report(problem: string): void {
    this.#dispatch({ type: 'failed', problem });
  }

  /** Goes on with one that is stored. */
  async open(id: string, signal?: AbortSignal): Promise<void> {
    this.stop();
    await this.#storing;
    const { fields, messages } = await this.#stored!.get(id, signal);
    signal?.throwIfAborted();
    const key = randomKey();
    this.#kept.set(key, { id, numMessages: messages.length });
    this.#dispatch({ type: 'opened', chat: { ...fields, key, id, messages } });
  }

  change(fields: Partial<ChatFields>): void {
    this.#dispatch({ type: 'changed', fields });
    const { id } = this.#state;
    if (id !== undefined) this.#store((stored) => stored.update(id, fields).then(() => id));
  }

  /** Asks at the end, or in place of the message at `index` and all after it. Resolves when the answer is over. */
  async send(question: string, index = this.#state.messages.length): Promise<void> {
    await this.#ask(index, question);
  }

  /** Has the answer at `index` written anew, or for the first time; what came after it goes. */
  async retry(index: number): Promise<void> {
    await this.#ask(index, undefined);
  }

  /** Ends the answer that is being written; what there is of it stays. */
  stop(): void {
    this.#running?.pending.flush();
    this.#running?.abort();
    if (this.#state.isAnswering) this.#end({ ending: 'stopped' });
  }

  async #ask(index: number, question: string | undefined): Promise<void> {
    this.stop();
    const controller = new AbortController();
    const pending = new PendingText((content, reasoning) => this.#dispatch({ type: 'grew', content, reasoning }));
    const running: RunningAnswer = { pending, abort: () => controller.abort() };
    this.#running = running;
    this.#dispatch({ type: 'asked', index, question });
    if (question !== undefined) this.#storeFrom(index);
    const { model, key, systemPrompt, sampling, messages } = this.#state;
    const sent = sentMessages(systemPrompt, messages.slice(0, -1));
    const request = { model, messages: sent, conversation: key, sampling };
    const clock = new AnswerClock();
    let usage: AnswerUsage | undefined;
    let ending: ChatMessage['ending'];
    try {
      for await (const event of streamAnswer(this.#client, request, controller.signal)) {
        if (this.#running !== running) return;
        if (event.type === 'text') {
          clock.textCame();
          pending.add(event);
        } else if (event.type === 'usage') usage = event.usage;
        else if (event.finishReason === 'length') ending = 'length';
      }
      if (this.#running !== running) return;
      pending.flush();
      this.#end({ stats: usage && clock.stats(usage), ending });
    } catch (error) {
      // Whoever has stopped it has seen to its end.
      if (this.#running !== running) return;
      pending.flush();
      this.#end({ ending: 'failed', problem: messageOf(error) });
    }
  }

  #end(outcome: Omit<Extract<ChatAction, { type: 'ended' }>, 'type'>): void {
    this.#running = undefined;
    this.#dispatch({ type: 'ended', ...outcome });
    this.#storeFrom(this.#state.messages.length - 1);
  }

  /**
   * Has the server keep the messages from `index` on, and what it could not be told of before them; without an answer that
   * is only beginning.
   */
  #storeFrom(index: number): void {
    const chat = this.#state;
    const { isAnswering, key } = chat;
    const messages = isAnswering ? chat.messages.slice(0, -1) : chat.messages;
    this.#store(async (stored) => {
      const kept = this.#kept.get(key) ?? { id: await stored.create(chat), numMessages: 0 };
      this.#kept.set(key, kept);
      if (this.#state.key === key && this.#state.id === undefined) this.#dispatch({ type: 'stored', id: kept.id });
      if (index < kept.numMessages) {
        await stored.replaceFrom(kept.id, index, messages.slice(index));
        kept.numMessages = messages.length;
      }
      // Added at the place that they have here: what another tab has added there meanwhile is not written over.
      while (kept.numMessages < messages.length) {
        await stored.append(kept.id, kept.numMessages, messages[kept.numMessages]!);
        kept.numMessages++;
      }
      return kept.id;
    });
  }

  #store(work: (stored: StoredConversations) => Promise<string>): void {
    const stored = this.#stored;
    if (!stored) return;
    this.#storing = this.#storing
      .then(() => work(stored))
      .then(
        (id) => this.onStored(id),
        (error) => this.report(notStored(error)),
      );
  }

  #dispatch(action: ChatAction): void {
    this.#state = reduceChat(this.#state, action);
    for (const listener of this.#listeners) listener();
  }
}

interface KeptConversation {
  readonly id: string;
  numMessages: number;
}

function notStored(error: unknown): string {
  const isElsewhere = error instanceof ServerError && error.status === 409;
  return isElsewhere
    ? 'This conversation went on in another tab. What is written here is not stored; reload the page to see the other.'
    : `The conversation was not stored: ${messageOf(error)}`;
}

interface RunningAnswer {
  readonly pending: PendingText;
  readonly abort: () => void;
}

/** Gathers text for a moment. */
class PendingText {
  readonly #show: (content: string, reasoning: string) => void;
  #content = '';
  #reasoning = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (content: string, reasoning: string) => void) {
    this.#show = show;
  }

  add({ content, reasoning }: { readonly content: string; readonly reasoning: string }): void {
    this.#content += content;
    this.#reasoning += reasoning;
    this.#timer ??= setTimeout(() => this.flush(), showEveryMs);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#content !== '' || this.#reasoning !== '') this.#show(this.#content, this.#reasoning);
    this.#content = '';
    this.#reasoning = '';
  }
}

/** `crypto.randomUUID` is only there over HTTPS and on this machine. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
