import { readEvents } from './read-events.ts';
import type { ServerClient } from './server-client.ts';
import { ServerError } from './server-error.ts';

/** A message as the server takes it. */
export interface SentMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

export interface AnswerRequest {
  readonly model: string | undefined;
  readonly messages: readonly SentMessage[];
  /** Under which drafts of this conversation were sent ahead. */
  readonly conversation: string;
  /** As the server names them: `top_p`. */
  readonly sampling: Readonly<Record<string, number>>;
}

export interface AnswerUsage {
  readonly promptTokens: number;
  /** Of these, those that did not have to be computed any more. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
  /** Tokens that were guessed ahead, and those of them that were right; absent where none was guessed. */
  readonly guesses?: { readonly made: number; readonly right: number };
}

export type AnswerEvent =
  | { readonly type: 'text'; readonly content: string; readonly reasoning: string }
  | { readonly type: 'end'; readonly finishReason: string }
  | { readonly type: 'usage'; readonly usage: AnswerUsage };

interface Chunk {
  readonly error?: { readonly message: string; readonly code?: string };
  readonly choices?: readonly {
    readonly delta: { readonly content?: string; readonly reasoning_content?: string };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
    readonly completion_tokens_details?: {
      readonly accepted_prediction_tokens?: number;
      readonly rejected_prediction_tokens?: number;
    };
  } | null;
}

/**
 * Asks for an answer and hands it on as it is written.
 * @throws ServerError, also for one that comes amid the stream or when that breaks off; the reason of the signal
 */
export async function* streamAnswer(
  client: ServerClient,
  { model, messages, conversation, sampling }: AnswerRequest,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  const body = { model, messages, conversation, ...sampling, stream: true, stream_options: { include_usage: true } };
  const response = await client.ask('/v1/chat/completions', { method: 'POST', body, signal });
  let isWhole = false;
  try {
    for await (const data of readEvents(response.body!)) {
      isWhole ||= data === '[DONE]';
      if (data === '[DONE]') continue;
      yield* eventsOf(JSON.parse(data) as Chunk);
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ServerError ? error : brokenOff(error);
  }
  signal.throwIfAborted();
  if (!isWhole) throw brokenOff();
}

function* eventsOf({ error, choices = [], usage }: Chunk): Generator<AnswerEvent> {
  if (error) throw new ServerError(error.message, { status: 500, code: error.code });
  for (const { delta, finish_reason } of choices) {
    const { content = '', reasoning_content: reasoning = '' } = delta;
    if (content !== '' || reasoning !== '') yield { type: 'text', content, reasoning };
    if (finish_reason !== null) yield { type: 'end', finishReason: finish_reason };
  }
  if (usage) yield { type: 'usage', usage: readUsage(usage) };
}

function readUsage(usage: NonNullable<Chunk['usage']>): AnswerUsage {
  const { accepted_prediction_tokens: right, rejected_prediction_tokens: wrong } =
    usage.completion_tokens_details ?? {};
  return {
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    completionTokens: usage.completion_tokens,
    ...(right !== undefined && wrong !== undefined && { guesses: { made: right + wrong, right } }),
  };
}

function brokenOff(cause?: unknown): ServerError {
  return new ServerError('The connection to the server broke off.', { status: 0, cause });
}
