import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { createKeyCheck } from './check-key.ts';

const request = (headers: Record<string, string>) => new Request('http://localhost/v1/models', { headers });
const bytesOf = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

describe('createKeyCheck', () => {
  const check = createKeyCheck(['first', 'second', 'schlüssel']);

  it.each([
    { Authorization: 'Bearer first' },
    { authorization: 'bearer  second' },
    { 'x-api-key': 'second' },
    { 'x-api-key': bytesOf('schlüssel') },
    // Clients of OpenAI always send a bearer token, even one that means nothing.
    { Authorization: 'Bearer none', 'x-api-key': 'first' },
  ])('lets %j pass', (headers) => {
    expect(check(request(headers as Record<string, string>))).toBeUndefined();
  });

  it.each([
    {},
    { Authorization: 'Bearer' },
    { Authorization: 'Bearer ' },
    { Authorization: 'Bearer firs' },
    { Authorization: 'Bearer first second' },
    { Authorization: 'Bearer FIRST' },
    { Authorization: 'Basic first' },
    { Authorization: 'first' },
    { 'x-api-key': '' },
    { 'x-api-key': 'first, second' },
  ])('refuses %j', (headers) => {
    let error: unknown;
    try {
      check(request(headers as Record<string, string>));
    } catch (caught) {
      error = caught;
    }
    expect(error).toMatchObject({ status: 401, headers: { 'WWW-Authenticate': 'Bearer' } });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({
      error: { type: 'authentication_error', code: 'invalid_api_key' },
    });
  });

  it('lets everybody pass without keys', () => {
    createKeyCheck([])(request({}));
  });

  it.each(['', 'a key', ' key', 'key\n'])('refuses to take %j for a key', (key) => {
    expect(() => createKeyCheck([key])).toThrow(InvalidArgumentError);
  });
});
