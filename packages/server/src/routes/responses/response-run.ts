import { createAnswerId, secondsNow } from '../../generation/answer-id.ts';
import type { StartedChoice } from '../../generation/start-chat.ts';
import { usageOf } from '../../generation/usage.ts';
import type { ApiError } from '../../http/api-error.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { chatLogprobs } from '../chat/chat-logprobs.ts';
import { ResponseItems } from './response-items.ts';
import type { ResponseAnswer, ResponseEvent } from './response-schema.ts';
import type { ResponsesBody } from './responses-body.ts';

/** One answer on its way: what it echoes of the request, its items, and the events that tell of it. */
export class ResponseRun {
  readonly #items = new ResponseItems();
  readonly #context: RequestContext;
  readonly #choice: StartedChoice;
  #answer: ResponseAnswer;

  constructor(context: RequestContext, body: ResponsesBody, model: string, choice: StartedChoice) {
    this.#context = context;
    this.#choice = choice;
    this.#answer = newAnswer(body, model);
  }

  /** The answer as it is now. */
  get answer(): ResponseAnswer {
    return this.#answer;
  }

  /** The answer to tell of a failure by. */
  failed(error: ApiError): ResponseAnswer {
    const { code, message } = error.toJSON().error;
    return { ...this.#answer, status: 'failed', error: { code: code ?? 'server_error', message } };
  }

  /** Everything that happens, up to the end; `answer` is whole then. */
  async *events(): AsyncGenerator<ResponseEvent> {
    const { generation, reader } = this.#choice;
    yield { type: 'response.created', response: this.#answer };
    yield { type: 'response.in_progress', response: this.#answer };
    const takeLogprobs = () => chatLogprobs(reader.takeLogprobs() ?? []).content;
    for await (const delta of generation) {
      for (const event of reader.push(delta))
        yield* this.#items.push(event, event.type === 'content' ? takeLogprobs() : []);
    }
    const result = await generation.result;
    for (const event of reader.finish(result)) {
      yield* this.#items.push(event, event.type === 'content' ? takeLogprobs() : []);
    }
    const isCut = reader.finishReason(result) === 'length';
    yield* this.#items.finish(isCut, takeLogprobs());
    const usage = usageOf(this.#context, [{ result, numReasoningTokens: reader.numReasoningTokens }]);
    this.#answer = {
      ...this.#answer,
      status: isCut ? 'incomplete' : 'completed',
      incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
      output: this.#items.output,
      usage: {
        input_tokens: usage.prompt_tokens,
        input_tokens_details: usage.prompt_tokens_details,
        output_tokens: usage.completion_tokens,
        output_tokens_details: { reasoning_tokens: usage.completion_tokens_details.reasoning_tokens },
        total_tokens: usage.total_tokens,
      },
    };
    yield { type: isCut ? 'response.incomplete' : 'response.completed', response: this.#answer };
  }
}

function newAnswer({ fields }: ResponsesBody, model: string): ResponseAnswer {
  return {
    id: createAnswerId('resp_'),
    object: 'response',
    created_at: secondsNow(),
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: fields.instructions ?? null,
    max_output_tokens: fields.max_output_tokens ?? null,
    model,
    output: [],
    parallel_tool_calls: fields.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: fields.reasoning?.effort ?? null, summary: null },
    store: false,
    temperature: fields.temperature ?? null,
    text: { format: withoutBigints(fields.text?.format ?? { type: 'text' }) },
    tool_choice: fields.tool_choice ?? 'auto',
    tools: withoutBigints(fields.tools ?? []),
    top_logprobs: fields.top_logprobs ?? 0,
    top_p: fields.top_p ?? null,
    truncation: 'disabled',
    usage: null,
    user: fields.user ?? null,
    metadata: fields.metadata ?? {},
  };
}

/** What schemas hold may be a bigint, of which JSON knows nothing. */
function withoutBigints<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? Number(member) : member)));
}
