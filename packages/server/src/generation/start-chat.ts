import { type LosslessJson, type OutputParserOptions, outputMarkers } from '@hearth/chat-format';
import type { GenerateOptions, Generation, ModelTokenizer } from '@hearth/engine';
import { type ReasoningRequest, reasoningVariables } from '../fields/reasoning-fields.ts';
import type { ResponseFormat, StructuredOutputs } from '../fields/response-format.ts';
import type { ToolChoice, ToolFields } from '../fields/tools.ts';
import { badRequest } from '../http/api-error.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { ServedModel } from '../models/served-model.ts';
import { renderChatPrompt } from './chat-prompt.ts';
import { OutputReader } from './output-reader.ts';
import { compileConstraint, planConstraint } from './plan-constraint.ts';
import { constraintStarter } from './start-constraint.ts';
import { startGenerations } from './start-generations.ts';
import { TextLogprobs } from './text-logprobs.ts';

/** A conversation to be answered, whatever interface it came through. */
export interface ChatRequest extends ReasoningRequest {
  /** Checked already, and lossless. */
  readonly messages: readonly Readonly<Record<string, LosslessJson>>[];
  readonly tools: readonly ToolFields[];
  /** As templates are to write them. */
  readonly toolsForTemplate: readonly LosslessJson[];
  readonly toolChoice: ToolChoice;
  /** Whether several calls may come. Undefined: as many as the model likes, but one where a call is asked for. */
  readonly parallelCalls: boolean | undefined;
  readonly format: ResponseFormat;
  readonly formatField: string;
  readonly structured: StructuredOutputs;
  readonly reasoningBudget: number | undefined;
  readonly addGenerationPrompt: boolean;
  readonly continueFinalMessage: boolean;
  /** With `logprobs` when log-probabilities are asked for. */
  readonly generate: GenerateOptions;
  /** Whether log-probabilities are those of the content only. Default: of all that the model writes. */
  readonly hasContentLogprobs?: boolean;
  readonly count: number;
  readonly cacheSalt: string | undefined;
  /** Whose draft has perhaps been computed ahead. */
  readonly conversation: string | undefined;
}

/** One text that is being written, and what reads it. */
export interface StartedChoice {
  readonly generation: Generation;
  readonly reader: OutputReader;
}

/**
 * Renders the conversation, compiles its constraint and starts the texts that answer it. Whatever can be refused is refused
 * here, before anything is sent.
 *
 * @throws ApiError 400 naming the field, and as `renderChatPrompt` and `startGenerations`
 */
export async function startChat(
  context: RequestContext,
  served: ServedModel,
  request: ChatRequest,
): Promise<StartedChoice[]> {
  const { toolChoice, generate } = request;
  const hasTools = request.tools.length > 0 && toolChoice !== 'none';
  if (hasTools && served.toolCallStyle === undefined) {
    throw badRequest(
      'tools',
      'The chat template of the model has no calls of tools in a form that is known here; leave tools out or set tool_choice to "none".',
    );
  }
  const plan = planConstraint(served, request);
  const prompt = await renderChatPrompt(served, {
    messages: request.messages,
    tools: hasTools ? request.toolsForTemplate : null,
    variables: { ...request.variables, ...reasoningVariables(served, request) },
    addGenerationPrompt: request.addGenerationPrompt,
    continueFinalMessage: request.continueFinalMessage,
    signal: context.signal,
  });
  const constraint = plan && (await compileConstraint(served, plan, context.signal));
  const parser: OutputParserOptions = {
    reasoning: prompt.reasoning,
    toolCallStyle: hasTools ? served.toolCallStyle : undefined,
    toolNames: request.tools.map((tool) => tool.function.name),
  };
  const { tokenizer } = served.model;
  const showSpecialTokens = markerTokens(tokenizer, parser);
  const startConstraint = await constraintStarter(served, prompt, {
    constraint,
    reasoningBudget: request.reasoningBudget,
  });
  const { conversation, cacheSalt = '' } = request;
  const generations = startGenerations(context, served, {
    promptTokenIds: prompt.tokenIds,
    count: request.count,
    generate: { ...generate, showSpecialTokens },
    startConstraint,
    cacheSalt,
    prefilled:
      conversation === undefined ? undefined : await served.drafts.fork({ conversation, cacheSalt }, prompt.tokenIds),
  });
  // Ends that the client has named may come within a call.
  const callsAreCertain = plan?.callsAreCertain === true && !hasOwnEnds(generate);
  return generations.map((generation) => ({
    generation,
    reader: new OutputReader({
      parser,
      callsAreCertain,
      beginsWithCall: callsAreCertain && toolChoice !== 'auto',
      mostCalls: request.parallelCalls === false ? 1 : Number.POSITIVE_INFINITY,
      logprobs: generate.logprobs === undefined ? undefined : new TextLogprobs(tokenizer, showSpecialTokens),
      isContentOnly: request.hasContentLogprobs ?? false,
    }),
  }));
}

function hasOwnEnds({ stop = [], stopTokenIds = [] }: GenerateOptions): boolean {
  return stop.length > 0 || stopTokenIds.length > 0;
}

/** The text has to show the markers of thoughts and calls, though they be control tokens. */
function markerTokens({ specialTokens }: ModelTokenizer, parser: OutputParserOptions): number[] {
  const markers = outputMarkers(parser);
  return specialTokens.filter(({ content }) => markers.includes(content)).map(({ id }) => id);
}
