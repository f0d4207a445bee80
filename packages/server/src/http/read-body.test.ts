import { hashScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJson, type TestServer, testServer } from '../__fixtures__/test-server.ts';

let test: TestServer;

beforeEach(async () => {
  test = await testServer({ next: hashScript(), contextLength: 512 }, { maxBodyBytes: 200_000, bodyTimeoutMs: 50 });
});

afterEach(() => test.server.dispose());

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const nested = (depth: number) => `{"content":${'['.repeat(depth)}${']'.repeat(depth)}}`;

type Body = string | Uint8Array | ReadableStream;

async function post(body: Body, headers: Record<string, string> = {}) {
  const init = { body, duplex: 'half', headers: { 'Content-Type': 'application/json', ...headers } };
  const response = await test.send('/tokenize', {}, init as RequestInit);
  return { status: response.status, headers: response.headers, body: (await response.json()) as AnyJson };
}

describe('bodies', () => {
  it.each<[what: string, body: Body]>([
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[1,2]'],
    ['a text', '"content"'],
    ['a number that is kept as text', '1.0'],
    ['a cut object', '{"content":"a'],
    ['a colon too many', '{:"content":"a"}'],
    ['something after the end', '{"content":"a"}}'],
    ['two values', '{"content":"a"} {}'],
    ['a key twice', '{"content":"a","content":"b"}'],
    ['bytes that are no UTF-8', latin1('{"content":"\xff"}')],
    ['text in another encoding', latin1('{"content":"\xc4\xe3\xba\xc3"}')],
    ['half a character', latin1('{"content":"\xe2\x82"}')],
    ['UTF-16', Buffer.from('{"content":"a"}', 'utf16le')],
    ['a NUL that is no escape', '{"content":"\0"}'],
    ['a line break in a text', '{"content":"\n"}'],
    ['deep lists', nested(1000)],
    ['a list without end', `{"content":${'['.repeat(150_000)}`],
    ['NaN', '{"content":NaN}'],
    ['single quotes', "{'content':'a'}"],
    ['a form', 'content=a'],
  ])('refuses %s with a sentence', async (_, body) => {
    const answer = await post(body);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', code: 'invalid_body', param: null } },
    });
    expect(answer.body.error.message).toMatch(/^[Tt]he body |^body /);
    expect(answer.body.error.message.length).toBeLessThan(300);
  });

  it.each<[what: string, body: Body, tokens: number[]]>([
    ['a byte order mark', '\ufeff{"content":"a","add_special_tokens":false}', [97]],
    ['blanks around', ' \r\n\t{"content":"a","add_special_tokens":false} \n', [97]],
    ['an escaped NUL', '{"content":"a\\u0000b","add_special_tokens":false}', [97, 0, 98]],
    // As browsers send texts that were cut within a pair: what is no character becomes U+FFFD.
    ['half a surrogate pair', '{"content":"a\\ud83d","add_special_tokens":false}', [97, 0xef, 0xbf, 0xbd]],
    ['a member called __proto__', '{"__proto__":{"content":"b"},"content":"a","add_special_tokens":false}', [97]],
    ['members of all objects', '{"constructor":1,"toString":2,"content":"a","add_special_tokens":false}', [97]],
  ])('takes %s', async (_, body, tokens) => {
    expect(await post(body)).toMatchObject({ status: 200, body: { tokens } });
    expect({}).not.toHaveProperty('content');
  });

  it('takes no field from a __proto__', async () => {
    expect(await post('{"__proto__":{"content":"a"}}')).toMatchObject({ status: 400 });
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/jsonx',
    '',
  ])('refuses the content type %j, which a form of another site could send', async (type) => {
    const answer = await post('{"content":"a"}', { 'Content-Type': type });
    expect(answer).toMatchObject({ status: 415, body: { error: { code: 'unsupported_content_type' } } });
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON'])('takes the content type %s', async (type) => {
    expect(await post('{"content":"a"}', { 'Content-Type': type })).toMatchObject({ status: 200 });
  });

  it('refuses compressed bodies', async () => {
    for (const encoding of ['gzip', 'br', 'identity, gzip']) {
      const answer = await post('{"content":"a"}', { 'Content-Encoding': encoding });
      expect(answer).toMatchObject({ status: 415, body: { error: { code: 'unsupported_content_encoding' } } });
    }
    expect(await post('{"content":"a"}', { 'Content-Encoding': 'identity' })).toMatchObject({ status: 200 });
  });
});

describe('bounds', () => {
  it('refuses too many bytes, said beforehand or not, and reads no further', async () => {
    let numRead = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        numRead++;
        controller.enqueue(new Uint8Array(10_000).fill(0x20));
      },
    });
    const answer = await post(endless);
    expect(answer).toMatchObject({ status: 413, body: { error: { code: 'body_too_large' } } });
    expect(answer.headers.get('connection')).toBe('close');
    expect(numRead).toBeLessThan(30);
    expect(await post('{}', { 'Content-Length': '200001' })).toMatchObject({ status: 413 });
  });

  it('refuses a body that does not come', async () => {
    const waiting = new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from('{"content":')) });
    const answer = await post(waiting);
    expect(answer).toMatchObject({ status: 408, body: { error: { code: 'body_timeout' } } });
    expect(answer.headers.get('connection')).toBe('close');
  });

  it('refuses a body that breaks off', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('ECONNRESET 10.0.0.7')) });
    expect(await post(broken)).toMatchObject({ status: 400, body: { error: { message: 'The body broke off.' } } });
  });

  it('refuses too many values', async () => {
    const few = await testServer({ next: hashScript() }, { maxBodyValues: 4 });
    expect((await few.json('/detokenize', { tokens: [97, 98, 97, 98] })).status).toBe(200);
    expect(await few.json('/detokenize', { tokens: [97, 98, 97, 98, 99] })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_body', message: 'body holds more than 4 values.' } },
    });
    await few.server.dispose();
  });
});
