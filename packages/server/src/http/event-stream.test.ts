import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { parseEvents } from '../__fixtures__/test-server.ts';
import { Lifecycle } from '../lifecycle.ts';
import { silentLogger } from '../logger.ts';
import { resolveServerOptions } from '../server-options.ts';
import type { Services } from '../services.ts';
import { ApiError } from './api-error.ts';
import { eventStream } from './event-stream.ts';
import { RequestContext, type RequestContextOptions } from './request-context.ts';
import { getRoute } from './route.ts';

const route = getRoute({
  path: '/',
  tag: 'Text',
  summary: 'None',
  responses: {},
  handle: async () => new Response(),
});

/** A request that is on its way, and what became of it. */
function start(more: { stallTimeoutMs?: number; requestTimeoutMs?: number } & Partial<RequestContextOptions> = {}) {
  const { stallTimeoutMs, requestTimeoutMs, ...incoming } = more;
  const options = resolveServerOptions({ models: [], stallTimeoutMs, requestTimeoutMs });
  const ends: string[] = [];
  const context = new RequestContext({
    route,
    request: new Request('http://localhost/'),
    requestId: 'id',
    params: {},
    services: { options, logger: silentLogger, lifecycle: new Lifecycle() } as Services,
    onEnd: () => ends.push('end'),
    ...incoming,
  });
  return { context, ends };
}

/** Numbers from 0, and whether the iterator was left. */
function counting(limit = Number.POSITIVE_INFINITY) {
  const seen = { numMade: 0, isLeft: false };
  async function* numbers() {
    try {
      while (seen.numMade < limit) yield seen.numMade++;
    } finally {
      seen.isLeft = true;
    }
  }
  return { seen, numbers: numbers() };
}

const eventsOf = async (response: Response) => parseEvents(await response.text());

describe('eventStream', () => {
  it('sends what there is, then the last word, and ends the request once', async () => {
    const { context, ends } = start();
    const response = eventStream(context, counting(3).numbers, { last: '[DONE]' });
    expect(ends).toEqual([]);
    expect(await eventsOf(response)).toEqual(['0', '1', '2', '[DONE]']);
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(ends).toEqual(['end']);
    expect(context.error).toBeUndefined();
  });

  it('makes no more than the client takes', async () => {
    const { context } = start();
    const { seen, numbers } = counting();
    const reader = eventStream(context, numbers).body!.getReader();
    await delay(20);
    expect(seen.numMade).toBe(1);
    await reader.read();
    await delay(20);
    expect(seen.numMade).toBe(2);
    await reader.cancel();
  });

  it('ends with an event for an error, without the last word', async () => {
    const { context, ends } = start();
    async function* failing() {
      yield 1;
      throw new Error("open '/srv/models/secret'");
    }
    const events = await eventsOf(eventStream(context, failing(), { last: '[DONE]' }));
    expect(events).toMatchObject(['1', { error: { type: 'server_error', code: 'internal_error' } }]);
    expect(JSON.stringify(events)).not.toContain('secret');
    expect(context.error).toMatchObject({ message: "open '/srv/models/secret'" });
    expect([ends, context.signal.aborted]).toEqual([['end'], true]);
  });

  it('is told apart by the shape that a route gives its errors', async () => {
    const { context } = start();
    async function* failing() {
      yield* [];
      throw new ApiError('No.', { status: 400 });
    }
    const response = eventStream(context, failing(), {
      nameOf: (event) => (event as { type: string }).type,
      errorEvent: ({ message }) => ({ type: 'error', message }),
    });
    expect(await response.text()).toBe('event: error\ndata: {"type":"error","message":"No."}\n\n');
  });

  it('tells why it was stopped, also when what it waits for never comes, or nobody reads', async () => {
    const waiting = start();
    const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    const response = eventStream(waiting.context, never);
    waiting.context.stop(new ApiError('Over.', { status: 503 }));
    expect(waiting.ends).toEqual(['end']);
    expect(await eventsOf(response)).toMatchObject([{ error: { message: 'Over.' } }]);

    const unread = start();
    const { seen, numbers } = counting();
    const second = eventStream(unread.context, numbers);
    await delay(5);
    unread.context.stop(new ApiError('Over.', { status: 503 }));
    await delay(5);
    expect([unread.ends, seen.isLeft]).toEqual([['end'], true]);
    expect(await eventsOf(second)).toMatchObject(['0', { error: { message: 'Over.' } }]);
  });

  it('ends the work when the client goes', async () => {
    const { context, ends } = start();
    const { seen, numbers } = counting();
    const reader = eventStream(context, numbers).body!.getReader();
    await reader.read();
    await reader.cancel();
    await delay(5);
    expect([ends, seen.isLeft]).toEqual([['end'], true]);
    expect(context.signal.reason).toMatchObject({ status: 499 });
    expect(context.error).toMatchObject({ status: 499 });
  });

  it('cuts off a client that stops reading, but not one that waits for the model', async () => {
    let numCuts = 0;
    const cut = start({ stallTimeoutMs: 20, disconnect: () => numCuts++ });
    const { seen, numbers } = counting();
    eventStream(cut.context, numbers);
    await delay(100);
    expect([cut.ends, numCuts, seen.isLeft]).toEqual([['end'], 1, true]);
    expect(cut.context.error).toMatchObject({ status: 408 });

    const slow = start({ stallTimeoutMs: 20 });
    async function* thinking() {
      await delay(100);
      yield 1;
    }
    expect(await eventsOf(eventStream(slow.context, thinking()))).toEqual(['1']);
  });

  it('breaks the stream off where there is no other way to cut the connection', async () => {
    const { context } = start({ stallTimeoutMs: 20 });
    const response = eventStream(context, counting().numbers);
    await delay(100);
    await expect(response.text()).rejects.toThrow('has not read its stream');
  });

  it('does not begin once the request was stopped', async () => {
    const { context } = start();
    context.stop(new ApiError('Over.', { status: 503 }));
    expect(() => eventStream(context, counting().numbers)).toThrow('Over.');
    expect(context.isStreaming).toBe(false);
  });
});

describe('RequestContext', () => {
  it('gives back in reverse, all of it, and at once after the end', () => {
    const { context, ends } = start();
    const order: string[] = [];
    context.onEnd(() => order.push('lease'));
    context.onEnd(() => {
      throw new Error('will not go');
    });
    context.onEnd(() => order.push('session'));
    context.end();
    context.end();
    expect(order).toEqual(['session', 'lease']);
    context.onEnd(() => order.push('late'));
    expect([order, ends]).toEqual([['session', 'lease', 'late'], ['end']]);
  });

  it('tells the first reason, whatever fails because of it', () => {
    const { context } = start();
    context.stop(new ApiError('Over.', { status: 503 }));
    expect(context.fail(new Error('aborted'))).toMatchObject({ status: 503, message: 'Over.' });
    expect(context.error).toMatchObject({ status: 503 });
  });

  it('stops when the client goes, and when it has gone before', () => {
    const controller = new AbortController();
    const request = new Request('http://localhost/', { signal: controller.signal });
    const early = start({ request }).context;
    expect(early.signal.aborted).toBe(false);
    controller.abort();
    const late = start({ request }).context;
    for (const { signal } of [early, late]) expect(signal.reason).toMatchObject({ status: 499 });
  });

  it('stops when its time is up', async () => {
    const { context } = start({ requestTimeoutMs: 10 });
    await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
    expect(context.signal.reason).toMatchObject({ status: 504 });
    expect(JSON.stringify(context.fail(new Error('aborted')))).toContain('"code":"timeout"');
  });
});
