/** A value that JSON can write. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [name: string]: JsonValue };

export const messageRoles = ['system', 'developer', 'user', 'assistant', 'tool'] as const;
export type MessageRole = (typeof messageRoles)[number];

export interface NewMessage {
  readonly role: MessageRole;
  readonly content: string;
  /** What the model thought before it answered. */
  readonly reasoning?: string | null | undefined;
  /** Calls of tools, or the call that this is the result of. */
  readonly tool?: JsonValue | undefined;
  /** How the answer came about: tokens, times. */
  readonly stats?: JsonObject | null | undefined;
}

export interface StoredMessage {
  readonly id: string;
  readonly role: MessageRole;
  readonly content: string;
  readonly reasoning: string | null;
  readonly tool: JsonValue;
  readonly stats: JsonObject | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** What can be said about a conversation besides its messages. */
export interface ConversationFields {
  readonly title: string;
  /** The model that was last used for it. */
  readonly model: string | null;
  readonly systemPrompt: string;
  /** Of sampling, for one; the store does not look into it. */
  readonly settings: JsonObject;
}

/** The fields that are given; the others stay as they are, or empty. */
export type ConversationChanges = {
  readonly [Name in keyof ConversationFields]?: ConversationFields[Name] | undefined;
};

export interface NewConversation extends ConversationChanges {
  readonly messages?: readonly NewMessage[] | undefined;
}

/** A conversation as lists have it. */
export interface ConversationSummary {
  readonly id: string;
  readonly title: string;
  readonly model: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When anything of it was last changed, in milliseconds since 1970. */
  readonly updatedAt: number;
}

export interface Conversation extends ConversationSummary, ConversationFields {
  readonly messages: readonly StoredMessage[];
}

export interface ConversationPage {
  /** The last changed first. */
  readonly conversations: readonly ConversationSummary[];
  /** Begins the next page, as `before`; undefined at the end. */
  readonly next: string | undefined;
}
