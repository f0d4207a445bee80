import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { sampleBytes, sha256Of } from './__fixtures__/bytes.ts';
import { startServer } from './__fixtures__/http-server.ts';
import { type FakeRepository, startHubServer } from './__fixtures__/hub-server.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { AccessDeniedError, ChecksumError, DownloadError, ModelNotFoundError, OfflineError } from './errors.ts';
import { pullModel, resolveModel } from './models.ts';
import type { PullProgress } from './progress.ts';
import type { HubOptions } from './settings.ts';

const commit = '1'.repeat(40);
const shard = (seed: number) => sampleBytes(20_000 + seed, seed);
const text = (value: unknown) => Buffer.from(JSON.stringify(value));

const single: FakeRepository = {
  commit,
  refs: ['v1'],
  files: {
    'README.md': text('not taken'),
    'config.json': text({ model_type: 'llama' }),
    'tokenizer.json': text({ version: '1.0' }),
    'chat_template.jinja': Buffer.from('{{ messages }}'),
    'model.safetensors': shard(1),
  },
};

const sharded: FakeRepository = {
  commit,
  files: {
    'config.json': text({ model_type: 'llama' }),
    'model.safetensors.index.json': text({
      weight_map: { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' },
    }),
    'model-00001-of-00002.safetensors': shard(1),
    'model-00002-of-00002.safetensors': shard(2),
    'pytorch_model.bin': shard(3),
  },
};

const ggufs: FakeRepository = { commit, files: { 'm.Q4_0.gguf': shard(4), 'sub/m.Q8_0.gguf': shard(8) } };

async function setUp(repository: FakeRepository, rest: HubOptions = {}) {
  const directory = await temporaryDirectory();
  const repositories = { 'org/name': repository };
  const hub = await startHubServer(repositories);
  const options = isolatedOptions(directory, { ...rest, env: { HF_ENDPOINT: hub.origin, ...rest.env } });
  return { directory, repositories, hub, options };
}

test('a safetensors repository becomes a directory of the files that Hearth reads', async () => {
  const { directory, options } = await setUp(single);
  const resolved = await resolveModel('org/name', options);
  expect(resolved).toMatchObject({
    kind: 'directory',
    path: path.join(directory, 'cache', 'models', `org--name@${commit}`),
    name: 'org/name',
    source: { type: 'hugging-face' },
    revision: commit,
  });
  const names = ['chat_template.jinja', 'config.json', 'hearth.json', 'model.safetensors', 'tokenizer.json'];
  expect((await readdir(resolved.path)).sort()).toEqual(names);
  for (const name of names.filter((other) => other !== 'hearth.json')) {
    expect(sha256Of(await readFile(path.join(resolved.path, name)))).toBe(sha256Of(single.files[name]!));
  }
});

test('a sharded repository brings index and shards, and progress counts all of them', async () => {
  const { options } = await setUp(sharded);
  const seen: PullProgress[] = [];
  const resolved = await resolveModel('org/name', { ...options, onProgress: (progress) => seen.push(progress) });
  expect((await readdir(resolved.path)).filter((name) => /safetensors|bin/.test(name)).sort()).toEqual([
    'model-00001-of-00002.safetensors',
    'model-00002-of-00002.safetensors',
    'model.safetensors.index.json',
  ]);
  expect(seen.at(-1)).toMatchObject({ completedBytes: resolved.sizeBytes, totalBytes: resolved.sizeBytes });
});

test.each([
  ['org/name:Q8_0', 'sub/m.Q8_0.gguf'],
  ['org/name', 'm.Q4_0.gguf'],
  ['org/name@main:*q4*', 'm.Q4_0.gguf'],
])('%s picks %s, and again from the cache alone', async (spec, file) => {
  const { hub, options } = await setUp(ggufs);
  const resolved = await resolveModel(spec, options);
  expect(resolved).toMatchObject({ kind: 'gguf', name: `org/name:${file}`, sha256: sha256Of(ggufs.files[file]!) });
  expect(resolved.path.endsWith(path.join(...file.split('/')))).toBe(true);
  const asked = hub.requests.length;
  expect(await resolveModel(spec, options)).toEqual(resolved);
  expect(await resolveModel(spec, { ...options, offline: true })).toEqual(resolved);
  expect(hub.requests.length).toBe(asked);
});

test('a format that was fetched by name is found by its file name, too; another one is not', async () => {
  const { options } = await setUp(ggufs);
  const resolved = await resolveModel('org/name:Q8_0', options);
  const offline = { ...options, offline: true };
  expect(await resolveModel('org/name:m.Q8_0.gguf', offline)).toEqual(resolved);
  await expect(resolveModel('org/name:Q4_0', offline)).rejects.toThrow(OfflineError);
  await expect(resolveModel('org/name@v9:Q8_0', offline)).rejects.toThrow(OfflineError);
});

test('pull follows a branch that moved, resolve stays with what is cached, a pin stays for good', async () => {
  const { repositories, options } = await setUp(single);
  const old = await resolveModel('org/name', options);
  const moved = '2'.repeat(40);
  repositories['org/name'] = {
    ...single,
    commit: moved,
    files: { ...single.files, 'config.json': text({ changed: true }) },
  };
  expect(await resolveModel('org/name', options)).toEqual(old);
  const pulled = await pullModel('org/name', options);
  expect(pulled.revision).toBe(moved);
  expect(await resolveModel('org/name', options)).toEqual(pulled);
  expect((await resolveModel(`org/name@${commit}`, options)).revision).toBe(commit);
});

test('a tag that names a cached commit downloads nothing anew', async () => {
  const { hub, options } = await setUp(single);
  await resolveModel('org/name', options);
  await resolveModel('org/name@v1', options);
  const downloads = hub.requests.filter(({ path: asked }) => asked.includes('/resolve/'));
  expect(downloads).toHaveLength(4);
  expect((await resolveModel('org/name@v1', { ...options, offline: true })).revision).toBe(commit);
});

test('bytes that differ from what the listing states are refused, small files included', async () => {
  const large = await setUp({ ...single, statedSha256: { 'model.safetensors': 'ab'.repeat(32) } });
  await expect(resolveModel('org/name', large.options)).rejects.toThrow(ChecksumError);
  const { hub, options } = await setUp(single);
  const proxied = await startTamperingHub(hub.origin);
  await expect(resolveModel('org/name', { ...options, endpoint: proxied })).rejects.toThrow(
    /config.json has the wrong git-sha1/,
  );
});

/** Passes everything through, but changes config.json without changing its size. */
async function startTamperingHub(origin: string): Promise<string> {
  const server = await startServer(async (request, response) => {
    const answer = await fetch(`${origin}${request.url}`);
    const body = Buffer.from(await answer.arrayBuffer());
    if (request.url?.endsWith('config.json')) body[2] = 0x58;
    const link = answer.headers.get('link')?.replace(origin, server.origin);
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '', ...(link ? { link } : {}) })
      .end(body);
  });
  return server.origin;
}

test('an interrupted pull keeps finished files and resumes', async () => {
  const { hub, options } = await setUp(sharded);
  const controller = new AbortController();
  const stopping: HubOptions = {
    ...options,
    signal: controller.signal,
    onProgress: ({ file, completedBytes }) =>
      file.startsWith('model-00002') && completedBytes > 20_000 && controller.abort(),
  };
  await expect(resolveModel('org/name', stopping)).rejects.toMatchObject({ code: 'aborted' });
  const before = hub.requests.length;
  await resolveModel('org/name', options);
  const after = hub.requests.slice(before).filter(({ path: asked }) => asked.includes('/resolve/'));
  expect(after.map(({ path: asked }) => path.posix.basename(asked))).toEqual(['model-00002-of-00002.safetensors']);
});

test('an index that names a missing shard is refused', async () => {
  const files = { ...sharded.files };
  delete files['model-00002-of-00002.safetensors'];
  const { options } = await setUp({ ...sharded, files });
  await expect(resolveModel('org/name', options)).rejects.toMatchObject({ code: 'invalid_model' });
});

test('the token goes to the endpoint and appears in no error', async () => {
  const { hub, options } = await setUp({ ...single, token: 'hf_right' });
  await resolveModel('org/name', { ...options, token: 'hf_right' });
  expect(hub.requests.every(({ headers }) => headers.authorization === 'Bearer hf_right')).toBe(true);
  const other = { ...options, cacheDirectory: await temporaryDirectory() };
  const failure = await resolveModel('org/name', { ...other, token: 'hf_s3cret' }).catch((error) => error);
  expect(failure).toBeInstanceOf(ModelNotFoundError);
  expect(failure.message).toContain('that the token may read it');
  expect(inspect(failure, { depth: 9 })).not.toContain('s3cret');
});

test('a listing that points to another host gets no token there', async () => {
  const elsewhere = await startHubServer({ 'org/name': single });
  const endpoint = await startServer((request, response) => {
    if (request.url?.includes('/revision/'))
      return void response.end(JSON.stringify({ _id: '1', id: 'org/name', sha: commit }));
    const next = `<${elsewhere.origin}/api/models/org/name/tree/${commit}?recursive=true>; rel="next"`;
    response.writeHead(200, { link: next }).end('[]');
  });
  const options = isolatedOptions(await temporaryDirectory(), { endpoint: endpoint.origin, token: 'hf_secret' });
  await resolveModel('org/name', options).catch(() => undefined);
  expect(endpoint.requests[0]?.headers.authorization).toBe('Bearer hf_secret');
  expect(elsewhere.requests.length).toBeGreaterThan(0);
  expect(elsewhere.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
});

test('says what is wrong: no such repository, no such revision, gated, no hub', async () => {
  const { options } = await setUp(single);
  await expect(resolveModel('org/other', options)).rejects.toThrow(
    /org\/other holds no model that can be seen from here.*set HF_TOKEN/,
  );
  await expect(resolveModel('org/name@v9', options)).rejects.toThrow("has no revision 'v9'");
  const gated = await setUp({ ...single, gated: true });
  await expect(resolveModel('org/name', gated.options)).rejects.toThrow(AccessDeniedError);
  await expect(resolveModel('org/name', gated.options)).rejects.toThrow('accept its terms');
  const page = await startServer((_request, response) => void response.end('<html>'));
  await expect(resolveModel('org/name', { ...options, endpoint: page.origin })).rejects.toThrow(
    'it may be no Hugging Face hub',
  );
  await expect(resolveModel('org/name', { ...options, endpoint: 'http://127.0.0.1:2' })).rejects.toThrow(DownloadError);
});

test('a complete snapshot of another tool is used where it lies; an incomplete one is not', async () => {
  const { directory, hub, options } = await setUp(sharded);
  const root = path.join(directory, '.cache', 'huggingface', 'hub', 'models--org--name');
  const snapshot = path.join(root, 'snapshots', commit);
  await mkdir(snapshot, { recursive: true });
  await mkdir(path.join(root, 'refs'));
  await writeFile(path.join(root, 'refs', 'main'), commit);
  const fetched = await resolveModel('org/name', options);
  await cp(fetched.path, snapshot, {
    recursive: true,
    filter: (name) => !name.includes('00002-of') && !name.endsWith('hearth.json'),
  });
  const empty = { ...options, cacheDirectory: await temporaryDirectory() };
  await expect(resolveModel('org/name', { ...empty, offline: true })).rejects.toThrow(OfflineError);
  await writeFile(path.join(snapshot, 'model-00002-of-00002.safetensors'), shard(2));
  const shared = await resolveModel('org/name', { ...empty, offline: true });
  expect(shared).toMatchObject({
    kind: 'directory',
    path: snapshot,
    source: { type: 'hugging-face-cache' },
    revision: commit,
  });
  expect(shared.sizeBytes).toBe(fetched.sizeBytes);
  const before = hub.requests.length;
  expect(await pullModel('org/name', empty)).toEqual(shared);
  expect(hub.requests.slice(before).some(({ path: asked }) => asked.includes('/resolve/'))).toBe(false);
});
