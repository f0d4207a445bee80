/** Text for the reader of the answer. */
export interface ContentDelta {
  type: 'content';
  text: string;
}

/** Text of the block in which the model thinks. */
export interface ReasoningDelta {
  type: 'reasoning';
  text: string;
}

/** A call begins. Its arguments follow, and then either `toolCallEnd` or `toolCallBroken`. */
export interface ToolCallStart {
  type: 'toolCallStart';
  /** Counts the calls of one output from 0. */
  index: number;
  id: string;
  name: string;
}

/** More of the JSON of a call's arguments, in the model's own writing. */
export interface ToolCallArguments {
  type: 'toolCallArguments';
  index: number;
  text: string;
}

/** The call is whole: its argument deltas joined are one JSON object. */
export interface ToolCallEnd {
  type: 'toolCallEnd';
  index: number;
}

/**
 * A call that had begun is none: the model made a mistake in its JSON or the output ended within it. `text` is all that the
 * model wrote for it, markers and white space before them included, and belongs to the content.
 */
export interface ToolCallBroken {
  type: 'toolCallBroken';
  index: number;
  text: string;
}

/** What an output means, piece by piece. */
export type OutputEvent =
  | ContentDelta
  | ReasoningDelta
  | ToolCallStart
  | ToolCallArguments
  | ToolCallEnd
  | ToolCallBroken;

/** A whole call of a tool. */
export interface ParsedToolCall {
  id: string;
  name: string;
  /** JSON text of an object. */
  arguments: string;
}

/** A whole output. */
export interface ParsedOutput {
  content: string;
  reasoning: string;
  toolCalls: ParsedToolCall[];
}

/** Joins the events of one output. The text of broken calls stands in the content, where the model wrote it. */
export function collectOutput(events: Iterable<OutputEvent>): ParsedOutput {
  const output: ParsedOutput = { content: '', reasoning: '', toolCalls: [] };
  let call: ParsedToolCall | undefined;
  for (const event of events) {
    switch (event.type) {
      case 'content':
        output.content += event.text;
        break;
      case 'reasoning':
        output.reasoning += event.text;
        break;
      case 'toolCallStart':
        call = { id: event.id, name: event.name, arguments: '' };
        break;
      case 'toolCallArguments':
        if (call !== undefined) call.arguments += event.text;
        break;
      case 'toolCallEnd':
        if (call !== undefined) output.toolCalls.push(call);
        break;
      case 'toolCallBroken':
        output.content += event.text;
        break;
    }
  }
  return output;
}
