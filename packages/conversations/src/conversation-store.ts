import { randomBytes } from 'node:crypto';
import { DisposedError } from '@hearth/core';
import type Database from 'better-sqlite3';
import type {
  Conversation,
  ConversationChanges,
  ConversationPage,
  ConversationSummary,
  NewConversation,
  NewMessage,
  StoredMessage,
} from './conversation.ts';
import { openDatabase } from './database/open-database.ts';
import { prepareStatements, type Statements, type SummaryRow } from './database/statements.ts';
import { translateError } from './database/translate-error.ts';
import { ConversationConflictError, ConversationNotFoundError } from './errors.ts';
import { checkedFields, checkedMessage, checkTotal, checkWhole, conversationLimits, invalid } from './limits.ts';
import { readConversation, readMessage, readSummary } from './read-rows.ts';
import { search } from './search.ts';

export interface OpenConversationStoreOptions {
  /** Most bytes of the file. Default: 2 GiB. */
  readonly maxBytes?: number | undefined;
}

export interface PageOptions {
  /** Most conversations of the page, 100 at most. Default: 50. */
  readonly limit?: number | undefined;
  /** `next` of the page before. Default: the first page. */
  readonly before?: string | undefined;
}

export interface SearchPageOptions extends PageOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface AppendOptions {
  /** The place that the message is to have. Default: whichever is next. */
  readonly index?: number | undefined;
}

/**
 * Conversations in a file. Each call is one transaction, done when it returns, and takes a few milliseconds at most. All of
 * them may throw StoreFullError, StoreBusyError, StoreAccessError and StoreDamagedError, and DisposedError once it is closed.
 */
export class ConversationStore {
  readonly #path: string;
  readonly #database: Database.Database;
  readonly #prepared: Statements;
  /** Settles when the last search that was asked for is over. */
  #searches: Promise<unknown> = Promise.resolve();

  /** @internal Use `openConversationStore`. */
  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#database = openDatabase(path, { maxBytes });
    this.#prepared = prepareStatements(this.#database);
  }

  /**
   * The conversations that were last changed, without their messages.
   * @throws InvalidArgumentError
   */
  list({ limit, before }: PageOptions = {}): ConversationPage {
    return this.#run(({ list }) => {
      const { place, most } = readPage(limit, before);
      return pageOf(list.all(place, most + 1), most);
    });
  }

  /**
   * Those of which the title or a message contains the text, in whatever case. Looks through everything there is, in slices of
   * a few milliseconds between which other work has its turn, one search after another.
   * @throws InvalidArgumentError for an empty text, or one of more than 200 characters
   * @throws AbortError
   */
  async search(text: string, { limit, before, signal }: SearchPageOptions = {}): Promise<ConversationPage> {
    const { place, most } = readPage(limit, before);
    // To SQLite's LIKE, texts end at U+0000.
    if (text === '' || text.length > conversationLimits.search || text.includes('\0')) {
      throw invalid('search', `must be a text of 1 to ${conversationLimits.search} characters other than U+0000`, text);
    }
    const options = { text, before: place, limit: most + 1, signal };
    const found = this.#searches.then(() => search(() => this.#statements(), options));
    this.#searches = found.catch(() => {});
    try {
      return pageOf(await found, most);
    } catch (error) {
      throw translateError(error, this.#path);
    }
  }

  /** @throws ConversationNotFoundError */
  get(id: string): Conversation {
    return this.#run(({ get, messages }) => {
      const read = this.#database.transaction(() => {
        const row = get.get(id);
        if (!row) throw new ConversationNotFoundError(id);
        return readConversation(row, messages.all(row.key));
      });
      return read.deferred();
    });
  }

  /** @throws InvalidArgumentError | ConversationTooLargeError */
  create({ messages = [], ...fields }: NewConversation = {}): Conversation {
    const columns = checkedFields(fields);
    return this.#transaction((statements) => {
      const id = createId('conv_');
      const now = Date.now();
      statements.create.run({ ...columns, id, now });
      const row = statements.get.get(id)!;
      insertMessages(statements, { conversation: row.key, position: 0, now }, messages);
      return readConversation(row, statements.messages.all(row.key));
    });
  }

  /**
   * Changes the fields that are given.
   * @throws ConversationNotFoundError | InvalidArgumentError | ConversationTooLargeError
   */
  update(id: string, changes: ConversationChanges): ConversationSummary {
    const columns = checkedFields(changes);
    return this.#transaction((statements) => {
      const { key } = find(statements, id);
      statements.update.run({ ...columns, key, now: Date.now() });
      return readSummary(find(statements, id));
    });
  }

  /**
   * Adds a message at the end.
   * @throws ConversationConflictError when `index` is given and the message would get another
   * @throws ConversationNotFoundError | InvalidArgumentError | ConversationTooLargeError
   */
  appendMessage(id: string, message: NewMessage, { index }: AppendOptions = {}): StoredMessage {
    if (index !== undefined) checkWhole('index', index, 0);
    return this.#transaction((statements) => {
      const { key } = find(statements, id);
      const { numMessages } = statements.total.get(key)!;
      if (index !== undefined && index !== numMessages) throw new ConversationConflictError(index, numMessages);
      const [stored] = insertMessages(statements, { conversation: key, position: numMessages }, [message]);
      return stored!;
    });
  }

  /**
   * Puts these messages into the place of all from `index` on: after an edit, or for another try.
   * @returns the new ones
   * @throws ConversationConflictError when there are fewer than `index` messages
   * @throws ConversationNotFoundError | InvalidArgumentError | ConversationTooLargeError
   */
  replaceFrom(id: string, index: number, messages: readonly NewMessage[]): readonly StoredMessage[] {
    checkWhole('index', index, 0);
    return this.#transaction((statements) => {
      const { key } = find(statements, id);
      const { numMessages } = statements.total.get(key)!;
      if (index > numMessages) throw new ConversationConflictError(index, numMessages);
      statements.cut.run(key, index);
      return insertMessages(statements, { conversation: key, position: index }, messages);
    });
  }

  /**
   * Deletes a conversation with its messages; the bytes of them are overwritten.
   * @throws ConversationNotFoundError
   */
  delete(id: string): void {
    this.#transaction((statements) => statements.delete.run(find(statements, id).key));
  }

  /** Safe to call twice. */
  close(): void {
    this.#database.close();
  }

  #run<T>(work: (statements: Statements) => T): T {
    try {
      return work(this.#statements());
    } catch (error) {
      throw translateError(error, this.#path);
    }
  }

  /** All or nothing. The right to write is taken first: one that began with reading could not wait for another writer. */
  #transaction<T>(work: (statements: Statements) => T): T {
    return this.#run((statements) => this.#database.transaction(() => work(statements)).immediate());
  }

  #statements(): Statements {
    if (!this.#database.open) throw new DisposedError('conversation store');
    return this.#prepared;
  }
}

/**
 * Opens the file of a store, made if it is not there, or `:memory:` for one that is gone when it is closed. Several processes
 * may have the same file open.
 *
 * @throws StoreAccessError when it cannot be opened, StoreDamagedError when it is no database or not whole, StoreVersionError
 *   when another program or a newer version wrote it; in all cases it is left as it is
 */
export function openConversationStore(
  path: string,
  { maxBytes = 2 * 2 ** 30 }: OpenConversationStoreOptions = {},
): ConversationStore {
  checkWhole('maxBytes', maxBytes, 1);
  return new ConversationStore(path, maxBytes);
}

/** A place in the list is the number of a change. */
function readPage(limit = 50, before = `${Number.MAX_SAFE_INTEGER}`): { place: number; most: number } {
  checkWhole('limit', limit, 1, conversationLimits.page);
  if (!/^\d{1,16}$/.test(before)) throw invalid('before', 'must be what a page gave as next', before);
  return { place: Number(before), most: limit };
}

/** One row more than the page has says that there is another. */
function pageOf(rows: readonly SummaryRow[], most: number): ConversationPage {
  const ofPage = rows.slice(0, most);
  return {
    conversations: ofPage.map(readSummary),
    next: rows.length > most ? `${ofPage.at(-1)!.change}` : undefined,
  };
}

function find({ find }: Statements, id: string): SummaryRow {
  const row = find.get(id);
  if (!row) throw new ConversationNotFoundError(id);
  return row;
}

function insertMessages(
  { append, total, touch }: Statements,
  { conversation, position, now = Date.now() }: { conversation: number; position: number; now?: number },
  messages: readonly NewMessage[],
): StoredMessage[] {
  const stored = messages.map((message, index) => {
    const row = { ...checkedMessage(message), id: createId('msg_'), createdAt: now };
    append.run({ ...row, conversation, position: position + index });
    return readMessage(row);
  });
  const { numMessages, size } = total.get(conversation)!;
  checkTotal(numMessages, size);
  touch.run(now, conversation);
  return stored;
}

function createId(prefix: string): string {
  return prefix + randomBytes(15).toString('hex');
}
