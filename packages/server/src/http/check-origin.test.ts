import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { createOriginCheck } from './check-origin.ts';

const request = (origin: string | undefined, url = 'http://localhost:8080/v1/models') =>
  new Request(url, origin === undefined ? {} : { headers: { Origin: origin } });
const refusal = expect.objectContaining({ status: 403, message: expect.stringContaining('allowed origins') });

describe('createOriginCheck', () => {
  it('lets programs and its own pages pass', () => {
    const check = createOriginCheck([]);
    check(request(undefined));
    check(request('http://localhost:8080'));
    check(request('https://server.example', 'https://server.example/v1/models'));
  });

  it.each([
    'https://localhost:8080',
    'http://localhost',
    'http://localhost:8081',
    'http://127.0.0.1:8080',
    'http://localhost:8080.evil.example',
    'null',
    '',
  ])('refuses %j, which is not its own page', (origin) => {
    expect(() => createOriginCheck([])(request(origin))).toThrow(refusal);
  });

  it.each([
    'https://example.com.evil.example',
    'https://evilexample.com',
    'https://a.example.com',
    'http://example.com',
    'https://example.com:8443',
    'https://example.com/',
    'https://example.com, https://evil.example',
    'null',
  ])('refuses %j, which only looks like the allowed one', (origin) => {
    expect(() => createOriginCheck(['https://example.com'])(request(origin))).toThrow(refusal);
  });

  it('lets allowed ones pass, of the web and of browser extensions', () => {
    const origins = [
      'https://example.com',
      'http://example.com:3000',
      'chrome-extension://abcdef',
      'tauri://localhost',
    ];
    const check = createOriginCheck(origins);
    for (const origin of origins) check(request(origin));
  });

  it('lets all pass when told so', () => {
    const check = createOriginCheck(['*']);
    for (const origin of ['https://evil.example', 'null']) check(request(origin));
  });

  it.each(['https://example.com/', 'https://Example.com', 'https://example.com:443', 'example.com', 'null', ''])(
    'refuses the entry %j',
    (entry) => {
      expect(() => createOriginCheck([entry])).toThrow(InvalidArgumentError);
    },
  );
});
