import { describe, expect, it } from 'vitest';
import { readEvents } from './read-events.ts';

const encode = (text: string) => new TextEncoder().encode(text);

function streamOf(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

async function read(pieces: readonly Uint8Array[]): Promise<string[]> {
  const events: string[] = [];
  for await (const data of readEvents(streamOf(pieces))) events.push(data);
  return events;
}

describe('readEvents', () => {
  const text =
    'data: {"a":"é😀"}\n\n: a comment\nevent: x\nid: 1\ndata:one\ndata: two\n\n\n\nretry: 5\n\ndata: [DONE]\n\n';
  const events = ['{"a":"é😀"}', 'one\ntwo', '[DONE]'];

  it.each(['\n', '\r\n', '\r'])('reads events whose lines end with %j, wherever they are cut', async (end) => {
    const bytes = encode(text.replaceAll('\n', end));
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(await read([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(
        // A lone carriage return at the very end may be half of a line break; the event is then not over.
        end === '\r' ? events.slice(0, 2) : events,
      );
    }
    expect(await read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(
      end === '\r' ? events.slice(0, 2) : events,
    );
  });

  it('leaves out an event that was not ended', async () => {
    expect(await read([encode('data: whole\n\ndata: half\n')])).toEqual(['whole']);
  });

  it('ends the request when nobody reads on', async () => {
    let isCancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(encode('data: more\n\n')),
      cancel: () => {
        isCancelled = true;
      },
    });
    for await (const _ of readEvents(endless)) break;
    expect(isCancelled).toBe(true);
  });
});
