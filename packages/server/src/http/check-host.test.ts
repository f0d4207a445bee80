import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { createHostCheck } from './check-host.ts';

const request = (host: string | undefined, url = `http://${host}/health`) =>
  new Request(url, host === undefined ? {} : { headers: { Host: host } });
const refusal = expect.objectContaining({ status: 403, message: expect.stringContaining('allowed hosts') });

describe('createHostCheck', () => {
  it.each([
    'localhost',
    'localhost:8080',
    'LOCALHOST',
    'localhost.',
    'chat.localhost:1',
    '127.0.0.1:8080',
    '192.168.1.5',
    '[::1]:8080',
    '[fe80::1]',
  ])('lets %s pass', (host) => {
    expect(createHostCheck([])(request(host))).toBeUndefined();
  });

  it.each([
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1.evil.example',
    '127.0.0.1.nip.io',
    'server.example',
  ])('refuses %s', (host) => {
    expect(() => createHostCheck([])(request(host))).toThrow(refusal);
  });

  it.each([
    '',
    'localhost@evil.example',
    'localhost/evil',
    'localhost:8080:80',
    '[::1',
    'localhost, evil.example',
    ':80',
  ])('refuses %j, which is no host', (host) => {
    expect(() => createHostCheck([])(request(host, 'http://localhost/health'))).toThrow(refusal);
  });

  it('lets further names pass, and no others', () => {
    const check = createHostCheck(['Server.Example', 'other.example.']);
    for (const host of ['server.example', 'SERVER.example:443', 'other.example']) check(request(host));
    for (const host of ['a.server.example', 'server.example.evil.example']) {
      expect(() => check(request(host))).toThrow(refusal);
    }
  });

  it('looks at both, the address of a target and the header', () => {
    const check = createHostCheck([]);
    expect(() => check(request('localhost', 'http://evil.example/health'))).toThrow(refusal);
    expect(() => check(request('evil.example', 'http://localhost/health'))).toThrow(refusal);
    check(request(undefined, 'http://localhost/health'));
    expect(() => check(request(undefined, 'http://evil.example/health'))).toThrow(refusal);
  });

  it('lets all pass when told so', () => {
    createHostCheck(['*'])(request('evil.example'));
  });

  it.each(['https://server.example', 'server.example:8080', '', 'a b'])('refuses the entry %j', (entry) => {
    expect(() => createHostCheck([entry])).toThrow(InvalidArgumentError);
  });
});
