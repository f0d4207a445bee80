import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { MessageReader } from './message-reader.ts';

describe('messages from a terminal', () => {
  it('come line by line, trimmed, and joined where a line ends in a backslash', async () => {
    const { reader, type } = openTerminal();
    expect(await answering(reader, () => type('  hello \r'))).toBe('hello');
    expect(await answering(reader, () => type('What is \\\r2+2?\r'))).toBe('What is \n2+2?');
  });

  it('keep pasted lines together until Enter', async () => {
    const { reader, type } = openTerminal();
    expect(await answering(reader, () => type('\u001b[200~one\ntwo\nthree\u001b[201~ and four\r'))).toBe(
      'one\ntwo\nthree and four',
    );
    expect(await answering(reader, () => type('next\r'))).toBe('next');
  });

  it('are not lost when they are typed while nobody waits, nor is a line begun then', async () => {
    const { reader, type, shown } = openTerminal();
    await type('first\rsecond\rthi');
    expect(shown()).toBe('');
    expect(await reader.next()).toBe('first');
    expect(await reader.next()).toBe('second');
    expect(shown()).toBe('> first\n> second\n');
    expect(await answering(reader, () => type('rd\r'))).toBe('third');
    expect(shown()).toContain('> third');
  });

  it('keep characters outside the basic plane whole', async () => {
    const { reader, type } = openTerminal();
    expect(await answering(reader, () => type('héllo 👩‍👩‍👧 日本語\r'))).toBe('héllo 👩‍👩‍👧 日本語');
  });
});

describe('what is typed', () => {
  it('is told after each key while a message is awaited, with the lines before it', async () => {
    const { reader, type, drafts } = openTerminal();
    await type('ahead');
    expect(drafts).toEqual([]);
    expect(await answering(reader, () => type(' x\u007fy\\\rz\r'))).toBe('ahead y\nz');
    expect(drafts).toEqual([
      'ahead',
      'ahead ',
      'ahead x',
      'ahead ',
      'ahead y',
      'ahead y\\',
      'ahead y\n',
      'ahead y\n',
      'ahead y\nz',
    ]);
  });
});

describe('Ctrl-C', () => {
  it('while nobody waits interrupts, and drops what has been typed ahead', async () => {
    const { reader, type, events } = openTerminal();
    await type('never mind\rnor this\u0003');
    expect(events).toEqual(['interrupt']);
    expect(await answering(reader, () => type('but this\r'))).toBe('but this');
  });

  it('discards what has been typed, and leaves only when it comes twice with nothing typed', async () => {
    const { reader, type, events } = openTerminal();
    const message = reader.next();
    await type('begun \\\rand \u0003');
    await type('\u0003');
    expect(events).toEqual([]);
    await type('whole\r');
    expect(await message).toBe('whole');
    expect(await answering(reader, () => type('\u0003\u0003'))).toBeUndefined();
    expect(events).toEqual(['close']);
  });
});

describe('Ctrl-D', () => {
  it('leaves while a message is awaited', async () => {
    const { reader, type, events } = openTerminal();
    expect(await answering(reader, () => type('\u0004'))).toBeUndefined();
    expect(await reader.next()).toBeUndefined();
    expect(events).toEqual(['close']);
  });

  it('leaves while nobody waits, so that what runs can be stopped', async () => {
    const { reader, type, events } = openTerminal();
    await type('\u0004');
    expect(events).toEqual(['close']);
    expect(await reader.next()).toBeUndefined();
  });
});

/** A message that is asked for before `act` types it. */
async function answering(reader: MessageReader, act: () => Promise<void>): Promise<string | undefined> {
  const message = reader.next();
  await act();
  return message;
}

/** A reader on streams that pretend to be a terminal of 80 columns. */
function openTerminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const events: string[] = [];
  const drafts: string[] = [];
  const reader = new MessageReader({
    input: input as unknown as NodeJS.ReadStream,
    output: output as unknown as NodeJS.WriteStream,
    onTyping: (draft) => drafts.push(draft),
    onInterrupt: () => events.push('interrupt'),
    onClose: () => events.push('close'),
  });
  let written = '';
  output.on('data', (chunk) => {
    written += String(chunk);
  });
  return {
    reader,
    events,
    drafts,
    shown: () => stripVTControlCharacters(written),
    async type(text: string) {
      input.write(text);
      for (let turn = 0; turn < 4; turn++) await setImmediate();
    },
  };
}
