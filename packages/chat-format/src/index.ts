export { NoChatTemplateError, TemplateError } from './chat-format-errors.ts';
export {
  ChatTemplate,
  type ChatTemplateLimits,
  type LoadChatTemplateOptions,
  loadChatTemplate,
  type RenderRequest,
} from './chat-template.ts';
export { type ChatTemplatePlaces, type ChatTemplateSource, chooseChatTemplate } from './choose-chat-template.ts';
export { JsonText } from './json/json-text.ts';
export type { ChatMessage, TextPart, ToolCall } from './messages.ts';
export type { Segment } from './template/control-words.ts';
export type { RenderedChat } from './template/render.ts';
