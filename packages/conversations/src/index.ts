export {
  type Conversation,
  type ConversationChanges,
  type ConversationFields,
  type ConversationPage,
  type ConversationSummary,
  type JsonObject,
  type JsonValue,
  type MessageRole,
  messageRoles,
  type NewConversation,
  type NewMessage,
  type StoredMessage,
} from './conversation.ts';
export {
  type AppendOptions,
  type ConversationStore,
  type OpenConversationStoreOptions,
  openConversationStore,
  type PageOptions,
  type SearchPageOptions,
} from './conversation-store.ts';
export {
  ConversationConflictError,
  ConversationNotFoundError,
  ConversationTooLargeError,
  StoreAccessError,
  StoreBusyError,
  StoreDamagedError,
  StoreFullError,
  StoreVersionError,
} from './errors.ts';
export { conversationLimits } from './limits.ts';
