import { describe, expect, it } from 'vitest';
import { EventStream } from './event-stream.ts';

const nothing = async () => {};

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('EventStream', () => {
  it('delivers events that came before and after they were asked for', async () => {
    const stream = new EventStream<number>(nothing);
    stream.push(1);
    const all = collect(stream);
    await null;
    stream.push(2);
    stream.end();
    stream.push(3);
    expect(await all).toEqual([1, 2]);
  });

  it('throws the error after the events before it, once', async () => {
    const stream = new EventStream<number>(nothing);
    stream.push(1);
    stream.fail(new Error('broken'));
    const iterator = stream[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    await expect(iterator.next()).rejects.toThrow('broken');
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it('answers several requests at once', async () => {
    const stream = new EventStream<number>(nothing);
    const iterator = stream[Symbol.asyncIterator]();
    const requests = [iterator.next(), iterator.next(), iterator.next()];
    stream.push(1);
    stream.fail(new Error('broken'));
    const settled = await Promise.allSettled(requests);
    expect(settled.map((request) => request.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('cancels when the loop is left, and lets the loop go on only when that is done', async () => {
    const order: string[] = [];
    const stream = new EventStream<number>(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      order.push('cancelled');
    });
    stream.push(1);
    for await (const _ of stream) break;
    order.push('after');
    expect(order).toEqual(['cancelled', 'after']);
  });

  it('ends a request that waits when the consumer returns', async () => {
    const stream = new EventStream<number>(nothing);
    const iterator = stream[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await iterator.return!();
    expect(await waiting).toEqual({ done: true, value: undefined });
  });

  it('does not cancel what has ended', async () => {
    let cancelled = false;
    const stream = new EventStream<number>(async () => {
      cancelled = true;
    });
    stream.push(1);
    stream.end();
    for await (const _ of stream) break;
    expect(cancelled).toBe(false);
  });

  it('is iterated once', () => {
    const stream = new EventStream<number>(nothing);
    stream[Symbol.asyncIterator]();
    expect(() => stream[Symbol.asyncIterator]()).toThrow(/iterated once/);
  });
});
