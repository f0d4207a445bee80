import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeModel } from '../test/fake-model.ts';
import { hashScript } from '../test/scripts.ts';

const greedy = { temperature: 0, ignoreEos: true } as const;
const prompt = Array.from({ length: 40 }, (_, i) => (i * 11) % 256);

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-session-'));
  path = join(directory, 'conversation.hearth');
});

afterEach(() => rm(directory, { recursive: true }));

describe('a saved session', () => {
  it('goes on in another process where it was, without computing its tokens again', async () => {
    const first = await createFakeModel({ next: hashScript() });
    const session = first.model.createSession({ tokenIds: prompt, anchor: 5, cacheSalt: 'Anna' });
    await session.generate({ ...greedy, maxTokens: 10 }).result;
    await session.save(path);
    const kept = await session.generate({ ...greedy, maxTokens: 10 }).result;

    const second = await createFakeModel({ next: hashScript() });
    const loaded = await second.model.loadSession(path);
    expect([loaded.length, loaded.numCachedTokens, loaded.anchor]).toEqual([50, 49, 5]);
    const { tokenIds, usage } = await loaded.generate({ ...greedy, maxTokens: 10 }).result;
    expect(tokenIds).toEqual(kept.tokenIds);
    expect(usage.cachedTokens).toBe(49);
    expect(second.backend.batches.reduce((sum, batch) => sum + batch.tokenIds.length, 0)).toBe(10);
    second.model.checkIntegrity();
  });

  it('may not have been computed at all', async () => {
    const { model } = await createFakeModel({ next: hashScript() });
    const session = model.createSession({ tokenIds: prompt });
    await session.save(path);
    const loaded = await model.loadSession(path);
    expect([loaded.tokenIds, loaded.numCachedTokens]).toEqual([prompt, 0]);
    model.checkIntegrity();
  });

  it('takes the blocks of idle sessions, but not of those that work', async () => {
    const { model, backend } = await createFakeModel({ next: hashScript(), contextLength: 64, cacheTokens: 64 });
    const session = model.createSession({ tokenIds: prompt });
    await session.prefill();
    await session.save(path);
    const loaded = await model.loadSession(path);
    expect([session.numCachedTokens, loaded.numCachedTokens]).toEqual([0, 40]);
    await loaded.dispose();

    const working = session.generate({ ...greedy, maxTokens: 20 });
    let refused: unknown;
    // The step waits, and its session with it, until the file was looked at.
    backend.beforeStep = async () => {
      refused ??= await model.loadSession(path).catch((error) => error);
    };
    await working.result;
    expect(refused).toMatchObject({ code: 'cache_exhausted' });
    expect((await working.result).tokenIds).toHaveLength(20);
    model.checkIntegrity();
  });

  it('is refused by a disposed model, and when its session works', async () => {
    const { model } = await createFakeModel({ next: hashScript() });
    const session = model.createSession({ tokenIds: prompt });
    const generation = session.generate({ ...greedy, maxTokens: 3 });
    await expect(session.save(path)).rejects.toMatchObject({ code: 'session_busy' });
    await generation.result;
    await session.save(path);
    await model.dispose();
    await expect(session.save(path)).rejects.toMatchObject({ code: 'disposed' });
    await expect(model.loadSession(path)).rejects.toMatchObject({ code: 'disposed' });
  });

  it('leaves an older file alone when it is aborted', async () => {
    const { model } = await createFakeModel({ next: hashScript() });
    const session = model.createSession({ tokenIds: prompt });
    await session.save(path);
    const before = await readFile(path);
    session.extend([1, 2, 3]);
    await expect(session.save(path, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
    expect(await readFile(path)).toEqual(before);
    expect(await readdir(directory)).toHaveLength(1);
  });

  it('is not loaded when it is damaged or half of it is missing, and takes no blocks then', async () => {
    const { model } = await createFakeModel({ next: hashScript() });
    const session = model.createSession({ tokenIds: prompt });
    await session.prefill();
    await session.save(path);
    await session.dispose();
    const bytes = await readFile(path);
    const { numOwnedBlocks } = model.stats().cache;
    for (const damaged of [
      bytes.subarray(0, bytes.length / 2),
      Buffer.from(bytes).fill(7, bytes.length - 100, bytes.length - 90),
    ]) {
      await writeFile(path, damaged);
      await expect(model.loadSession(path)).rejects.toMatchObject({ code: 'session_file' });
    }
    expect(model.stats().cache.numOwnedBlocks).toBe(numOwnedBlocks);
    model.checkIntegrity();
  });
});

describe('a forked session', () => {
  it('goes its own way from any place, and so does the one it came from', async () => {
    // At a block's border, in the middle of one, and with nothing computed.
    for (const length of [32, 37, 0]) {
      const { model } = await createFakeModel({ next: hashScript() });
      const fresh = async (tokenIds: number[]) =>
        (
          await model
            .createSession({ tokenIds, cacheSalt: String(Math.random()) })
            .generate({ ...greedy, maxTokens: 20 }).result
        ).tokenIds;
      const trunk = model.createSession({ tokenIds: prompt.slice(0, length) });
      await trunk.prefill();
      const branch = trunk.fork();
      expect(branch.numCachedTokens).toBe(trunk.numCachedTokens);
      branch.extend([1]);
      trunk.extend([2]);
      const [left, right] = await Promise.all(
        [branch, trunk].map((session) => session.generate({ ...greedy, maxTokens: 20 }).result),
      );
      expect(left!.tokenIds).toEqual(await fresh([...prompt.slice(0, length), 1]));
      expect(right!.tokenIds).toEqual(await fresh([...prompt.slice(0, length), 2]));
      expect(left!.usage.cachedTokens).toBe(length);
      await trunk.dispose();
      const later = branch.fork();
      await branch.dispose();
      expect((await later.generate({ ...greedy, maxTokens: 5 }).result).usage.cachedTokens).toBe(later.length - 5 - 1);
      model.checkIntegrity();
    }
  });

  it('is refused while the session works', async () => {
    const { model } = await createFakeModel({ next: hashScript() });
    const session = model.createSession({ tokenIds: prompt });
    const generation = session.generate({ ...greedy, maxTokens: 3 });
    expect(() => session.fork()).toThrow(expect.objectContaining({ code: 'session_busy' }));
    await generation.result;
  });
});
