import { ApiError } from './api-error.ts';
import { JsonEvent } from './json-event.ts';
import type { RequestContext } from './request-context.ts';
import { toApiError } from './to-api-error.ts';

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
 */
export function eventStream(
  context: RequestContext,
  events: AsyncIterable<unknown>,
  { last, nameOf, errorEvent = (error) => error }: EventStreamOptions = {},
): Response {
  context.isStreaming = true;
  const iterator = events[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const encode = (event: unknown) => {
    const json = event instanceof JsonEvent ? event.json : JSON.stringify(event);
    const data = `data: ${json}\n\n`;
    return encoder.encode(nameOf ? `event: ${nameOf(event)}\n${data}` : data);
  };
  const { stallTimeoutMs } = context.services.options;
  let stalled: NodeJS.Timeout | undefined;
  context.onEnd(() => clearTimeout(stalled));

  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(stalled);
      try {
        const { done, value } = await iterator.next();
        if (context.signal.aborted) return;
        if (!done) {
          controller.enqueue(encode(value));
          stalled = setTimeout(() => stall(controller), stallTimeoutMs);
          return;
        }
        if (last !== undefined) controller.enqueue(encoder.encode(`data: ${last}\n\n`));
      } catch (error) {
        context.error = error;
        if (!context.signal.aborted) controller.enqueue(encode(errorEvent(toApiError(error))));
      }
      context.end();
      controller.close();
    },
    cancel(reason) {
      context.stop(reason);
      void iterator.return?.();
    },
  });
  const stall = (controller: ReadableStreamDefaultController) => {
    const reason = new ApiError('The client has not read its stream for too long.', { status: 408 });
    context.error = reason;
    context.stop(reason);
    void iterator.return?.();
    controller.error(reason);
  };
  return new Response(stream, { headers });
}
