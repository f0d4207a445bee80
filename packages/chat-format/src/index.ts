export { NoChatTemplateError, TemplateError } from './chat-format-errors.ts';
export {
  ChatTemplate,
  type ChatTemplateLimits,
  type LoadChatTemplateOptions,
  loadChatTemplate,
  type RenderRequest,
} from './chat-template.ts';
export { type ChatTemplatePlaces, type ChatTemplateSource, chooseChatTemplate } from './choose-chat-template.ts';
export { finishedPart } from './finished-part.ts';
export { JsonText } from './json/json-text.ts';
export {
  type LosslessJson,
  type LosslessJsonLimits,
  type PlainJson,
  parseLosslessJson,
  plainJson,
} from './json/lossless-json.ts';
export type { ChatMessage, TextPart, ToolCall } from './messages.ts';
export { createCallId } from './output/call-id.ts';
export {
  type ContentDelta,
  collectOutput,
  type OutputEvent,
  type ParsedOutput,
  type ParsedToolCall,
  type ReasoningDelta,
  type ToolCallArguments,
  type ToolCallBroken,
  type ToolCallEnd,
  type ToolCallStart,
} from './output/output-events.ts';
export {
  createOutputParser,
  type OutputParser,
  type OutputParserOptions,
  outputMarkers,
} from './output/output-parser.ts';
export {
  detectReasoning,
  type ReasoningBlock,
  reasoningBlockAfter,
  reasoningMarkers,
} from './output/reasoning-parser.ts';
export {
  type ForcedToolChoice,
  type ToolCallAlternative,
  type ToolCallGrammar,
  type ToolCallGrammarOptions,
  type ToolDefinition,
  toolCallGrammar,
} from './output/tool-call-grammar.ts';
export { detectToolCallStyle, type ToolCallStyle } from './output/tool-call-style.ts';
export type { Segment } from './template/control-words.ts';
export type { RenderedChat } from './template/render.ts';
