import type { UnderlyingSource } from 'node:stream/web';
import { ApiError } from './api-error.ts';
import { JsonEvent } from './json-event.ts';
import { clientGone, type RequestContext } from './request-context.ts';

export interface EventStreamOptions {
  /** Sent after the last event, as OpenAI's `[DONE]`. */
  readonly last?: string;
  /** The name of an event, where it has one. */
  readonly nameOf?: (event: unknown) => string;
  /** What is sent for an error that comes after the beginning. Default: OpenAI's error body. */
  readonly errorEvent?: (error: ApiError) => unknown;
}

const headers = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache',
  // Proxies of the nginx kind would collect the events.
  'X-Accel-Buffering': 'no',
};

/**
 * Answers with server-sent events, each made when the client has room for it. The request ends with the last of them, or when
 * the client goes away or stops reading. Refuse what can be refused before: from here on the status is 200.
 *
 * @throws the reason of the context's signal when it has fired already
 */
export function eventStream(
  context: RequestContext,
  events: AsyncIterable<unknown>,
  options: EventStreamOptions = {},
): Response {
  context.signal.throwIfAborted();
  context.isStreaming = true;
  return new Response(new ReadableStream(new EventSource(context, events, options)), { headers });
}

class EventSource implements UnderlyingSource<Uint8Array> {
  readonly #context: RequestContext;
  readonly #iterator: AsyncIterator<unknown>;
  readonly #options: EventStreamOptions;
  readonly #encoder = new TextEncoder();
  #stallTimer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(context: RequestContext, events: AsyncIterable<unknown>, options: EventStreamOptions) {
    this.#context = context;
    this.#iterator = events[Symbol.asyncIterator]();
    this.#options = options;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { signal } = this.#context;
    const onStop = () => this.#fail(controller, signal.reason);
    signal.addEventListener('abort', onStop);
    this.#context.onEnd(() => signal.removeEventListener('abort', onStop));
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    clearTimeout(this.#stallTimer);
    try {
      const { done, value } = await this.#iterator.next();
      if (this.#isOver) return;
      if (done) return this.#finish(controller);
      controller.enqueue(this.#encode(value));
    } catch (error) {
      return this.#fail(controller, error);
    }
    const { stallTimeoutMs } = this.#context.services.options;
    this.#stallTimer = setTimeout(() => this.#cut(controller), stallTimeoutMs);
  }

  /** The client has gone. */
  cancel(): void {
    this.#close();
    this.#context.stop(clientGone());
    this.#context.end();
  }

  #finish(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { last } = this.#options;
    if (last !== undefined) controller.enqueue(this.#encoder.encode(`data: ${last}\n\n`));
    this.#close();
    controller.close();
    this.#context.end();
  }

  #fail(controller: ReadableStreamDefaultController<Uint8Array>, error: unknown): void {
    if (this.#isOver) return;
    this.#close();
    const told = this.#context.fail(error);
    const { errorEvent = (error) => error } = this.#options;
    controller.enqueue(this.#encode(errorEvent(told)));
    controller.close();
    this.#context.end();
  }

  /** Nothing more can be told to a client that does not read; only its connection can be taken from it. */
  #cut(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#close();
    const reason = new ApiError('The client has not read its stream for too long.', { status: 408, code: 'stalled' });
    this.#context.stop(reason);
    this.#context.end();
    if (this.#context.disconnect) this.#context.disconnect();
    else controller.error(reason);
  }

  #close(): void {
    this.#isOver = true;
    clearTimeout(this.#stallTimer);
    // An iterator that waits for something goes on to its end when the signal has fired; nobody waits for that.
    this.#iterator.return?.()?.catch(() => {});
  }

  #encode(event: unknown): Uint8Array {
    const { nameOf } = this.#options;
    const json = event instanceof JsonEvent ? event.json : JSON.stringify(event);
    const data = `data: ${json}\n\n`;
    return this.#encoder.encode(nameOf ? `event: ${nameOf(event)}\n${data}` : data);
  }
}
