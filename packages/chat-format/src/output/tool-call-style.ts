/**
 * How a model writes calls of tools.
 *
 * - `hermes`: Hermes, Qwen2.5, Qwen3 and others: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
 * - `llama3`: Llama 3.1 to 3.3: `{"name": ..., "parameters": {...}}` instead of an answer, or after `<|python_tag|>`.
 */
export type ToolCallStyle = 'hermes' | 'llama3';

/** What stands around the calls of a style. */
export interface ToolCallSyntax {
  /** Begins a call. */
  marker: string;
  /** Ends a call, if the style has something for that. */
  endMarker: string | undefined;
  /** Whether a call may begin without the marker, where no content came before. */
  mayOmitMarker: boolean;
  /** May stand between two calls. */
  separator: string | undefined;
}

export const toolCallSyntaxes: Readonly<Record<ToolCallStyle, ToolCallSyntax>> = {
  hermes: { marker: '<tool_call>', endMarker: '</tool_call>', mayOmitMarker: false, separator: undefined },
  llama3: { marker: '<|python_tag|>', endMarker: undefined, mayOmitMarker: true, separator: ';' },
};

/**
 * The style in which a chat template writes the calls of earlier turns, or `undefined` if it is none that is known here.
 * The template has the text of a call in it, so families need not be told by their names, and models that share a marker
 * but write XML between (Qwen3-Coder, GLM) are not mistaken for others.
 *
 * @param template source of the template that is used with tools
 */
export function detectToolCallStyle(template: string): ToolCallStyle | undefined {
  const writesKey = (key: string) => new RegExp(`\\\\?"${key}\\\\?":`).test(template);
  if (template.includes('<tool_call>') && writesKey('name') && writesKey('arguments')) return 'hermes';
  if (template.includes('<|start_header_id|>') && writesKey('name') && writesKey('parameters')) return 'llama3';
  return undefined;
}
