import { createCallId } from './call-id.ts';
import type { OutputEvent } from './output-events.ts';
import { type ReasoningBlock, ReasoningParser, reasoningMarkers, type SplitText } from './reasoning-parser.ts';
import { ToolCallParser } from './tool-call-parser.ts';
import { type ToolCallStyle, toolCallSyntaxes } from './tool-call-style.ts';

/** What a model may write besides plain text, and what of it is looked for. */
export interface OutputParserOptions {
  /** How the prompt leaves the reasoning block (`reasoningBlockAfter`). Absent: nothing is reasoning. */
  reasoning?: ReasoningBlock | undefined;
  /** How the model calls tools (`detectToolCallStyle`). Absent: nothing is a call. */
  toolCallStyle?: ToolCallStyle | undefined;
  /** Names of the tools that were given. Whatever calls another one is content. Default none. */
  toolNames?: readonly string[];
  /** Makes the id of a call. Default `createCallId`. */
  createCallId?: () => string;
}

/**
 * Takes the text of one output in pieces, cut anywhere, and says what it means. Joined, the events are the same for every
 * way of cutting.
 */
export interface OutputParser {
  /** Whether the text so far ends within the reasoning block. */
  readonly isReasoning: boolean;
  /** Events that this text makes certain; what may be part of a marker or call is held back. */
  push(text: string): OutputEvent[];
  /** The output has ended: events of what was held back. Nothing may follow. */
  finish(): OutputEvent[];
}

/**
 * Makes a parser for one output of a model: reasoning blocks, calls of tools and content.
 *
 * Markers are known by their text, so the text must show them, also those that are special tokens; see `outputMarkers`.
 */
export function createOutputParser(options: OutputParserOptions): OutputParser {
  const { reasoning, toolCallStyle, toolNames = [], createCallId: createId = () => createCallId() } = options;
  const thoughts = reasoning === undefined ? undefined : new ReasoningParser(reasoning);
  const calls = toolCallStyle === undefined ? undefined : new ToolCallParser(toolCallStyle, toolNames, createId);

  const toEvents = (split: SplitText): OutputEvent[] => [
    ...(split.reasoning === '' ? [] : [{ type: 'reasoning', text: split.reasoning } as const]),
    ...readContent(split.content),
  ];
  const readContent = (text: string): OutputEvent[] => {
    if (calls !== undefined) return calls.push(text);
    return text === '' ? [] : [{ type: 'content', text }];
  };
  return {
    get isReasoning() {
      return thoughts?.isReasoning ?? false;
    },
    push: (text) => (thoughts === undefined ? readContent(text) : toEvents(thoughts.push(text))),
    finish: () => [...(thoughts === undefined ? [] : toEvents(thoughts.finish())), ...(calls?.finish() ?? [])],
  };
}

/**
 * Markers that the parser needs to see. A detokenizer that leaves special tokens out must show those of them that are
 * special in the model's tokenizer. In those of Qwen2.5 and Qwen3 none is; in Llama 3 `<|python_tag|>` is, but calls are
 * found without it unless they follow text.
 */
export function outputMarkers({ reasoning, toolCallStyle }: OutputParserOptions): string[] {
  const markers = reasoning === undefined ? [] : [reasoningMarkers.begin, reasoningMarkers.end];
  if (toolCallStyle === undefined) return markers;
  const { marker, endMarker } = toolCallSyntaxes[toolCallStyle];
  return [...markers, marker, ...(endMarker === undefined ? [] : [endMarker])];
}
