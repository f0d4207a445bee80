import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { createLogger } from './create-logger.ts';

/** A log on a stream that is a terminal, or not, and what has been written to it. */
function logOn({ isTTY }: { isTTY: boolean }) {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const logger = createLogger({ logLevel: 'info' }, stream as unknown as typeof process.stderr);
  return { logger, written: () => String(stream.read() ?? '') };
}

it('writes a line of JSON an entry', () => {
  const { logger, written } = logOn({ isTTY: false });
  logger.child({ requestId: 'r1' }).info({ status: 200 }, 'request');
  const entry = JSON.parse(written());
  expect(entry).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    requestId: 'r1',
    status: 200,
    msg: 'request',
  });
  logger.debug({}, 'not at this level');
  expect(written()).toBe('');
});

it('keeps the cause of an error', () => {
  const { logger, written } = logOn({ isTTY: false });
  logger.error({ err: new Error('could not', { cause: new Error('for want of a nail') }) }, 'failed');
  expect(JSON.parse(written()).err.stack).toMatch(/could not.*for want of a nail/s);
});

it('writes for people on a terminal, and obeys no control character', () => {
  const { logger, written } = logOn({ isTTY: true });
  logger.warn({ model: 'a b', milliseconds: 3 }, 'odd \u001b[2J name');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: styles are what is taken out
  const text = written().replace(/\u001b\[\d\d?m/g, '');
  expect(text).toMatch(/^\d\d:\d\d:\d\d warn odd \\x1b\[2J name model="a b" milliseconds=3\n$/);
});
