import { setTimeout as delay } from 'node:timers/promises';
import { DisposedError } from '@hearth/core';
import { createFakeModel, hashScript } from '@hearth/engine/test';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../logger.ts';
import type { LoadedModel, LoadOptions } from '../server-options.ts';
import { ModelManager } from './model-manager.ts';

/** A gate that a test opens. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** A manager of one model, `a`, with what its loader has seen. */
function manager({ idleTimeoutMs = Number.POSITIVE_INFINITY } = {}) {
  const seen = {
    numLoads: 0,
    numLoaded: 0,
    mostLoaded: 0,
    /** Each load and each disposal waits for these. */
    beforeLoad: undefined as (() => Promise<unknown>) | undefined,
    beforeDispose: undefined as (() => Promise<unknown>) | undefined,
  };
  const load = async (): Promise<LoadedModel> => {
    seen.numLoads++;
    await seen.beforeLoad?.();
    const { model } = await createFakeModel({ next: hashScript() });
    seen.mostLoaded = Math.max(seen.mostLoaded, ++seen.numLoaded);
    const dispose = async () => {
      await seen.beforeDispose?.();
      await model.dispose();
      seen.numLoaded--;
    };
    return { model, dispose };
  };
  const models = new ModelManager({ models: [{ name: 'a', load }], idleTimeoutMs, logger: silentLogger });
  const state = () => models.list()[0]!.state;
  return { models, seen, state };
}

/** Waits until it is so; the test's own limit ends it otherwise. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(1);
}

describe('ModelManager', () => {
  it('refuses names that are empty or not one model’s alone', () => {
    const load = async () => Promise.reject(new Error('not to be loaded'));
    const make = (...models: { name: string; aliases?: string[] }[]) =>
      new ModelManager({
        models: models.map((model) => ({ ...model, load })),
        idleTimeoutMs: 1000,
        logger: silentLogger,
      });
    expect(() => make()).toThrow('at least one model');
    expect(() => make({ name: '' })).toThrow('at least one character');
    expect(() => make({ name: 'a' }, { name: 'a' })).toThrow('Two models are called "a".');
    expect(() => make({ name: 'a' }, { name: 'b', aliases: ['a'] })).toThrow('Two models are called "a".');
    expect(() => make({ name: 'a', aliases: ['a'] })).toThrow('Two models are called "a".');
  });

  it('finds a model by name, alias, or as the first, and no member of all objects', async () => {
    const load = async () => {
      const { model } = await createFakeModel({ next: hashScript() });
      return { model, dispose: () => model.dispose() };
    };
    const models = new ModelManager({
      models: [
        { name: 'a', load },
        { name: 'b', aliases: ['c'], load },
      ],
      idleTimeoutMs: Number.POSITIVE_INFINITY,
      logger: silentLogger,
    });
    const nameOf = async (name?: string) => (await models.acquire(name)).served.name;
    expect([await nameOf(), await nameOf('a'), await nameOf('b'), await nameOf('c')]).toEqual(['a', 'a', 'b', 'b']);
    for (const name of ['d', '', '__proto__', 'constructor']) {
      await expect(models.acquire(name)).rejects.toMatchObject({ status: 404 });
    }
    await models.dispose();
  });

  it('loads once for all who come meanwhile', async () => {
    const { models, seen, state } = manager();
    const [first, second] = [models.acquire('a'), models.acquire('a')];
    expect(state()).toBe('loading');
    expect(models.loaded()).toEqual([]);
    expect((await first).served).toBe((await second).served);
    expect([seen.numLoads, state(), models.loaded().length]).toEqual([1, 'loaded', 1]);
    await models.dispose();
    expect([seen.numLoaded, state(), models.loaded().length]).toEqual([0, 'unloaded', 0]);
  });

  it('says how far a load is while it runs', async () => {
    const { open, opened } = gate();
    const load = async ({ onProgress }: LoadOptions): Promise<LoadedModel> => {
      onProgress(0.25);
      onProgress(1.5);
      onProgress(0.5);
      await opened;
      const { model } = await createFakeModel({ next: hashScript() });
      return { model, dispose: () => model.dispose() };
    };
    const models = new ModelManager({
      models: [{ name: 'a', load }],
      idleTimeoutMs: Number.POSITIVE_INFINITY,
      logger: silentLogger,
    });
    expect(models.describe('a').progress).toBeUndefined();
    const lease = models.acquire('a');
    await until(() => models.describe('a').progress !== undefined);
    expect(models.describe('a')).toMatchObject({ state: 'loading', progress: 0.5 });
    open();
    (await lease).release();
    expect(models.describe('a')).toMatchObject({ state: 'loaded', progress: undefined });
    await models.dispose();
  });

  it('tells all who wait that a load has failed, without its reason, and tries again for the next', async () => {
    const { models, seen, state } = manager();
    seen.beforeLoad = async () => {
      throw new Error("ENOENT: no such file or directory, open '/srv/models/secret'");
    };
    const results = await Promise.allSettled([models.acquire('a'), models.acquire('a')]);
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { status: 500, message: 'The model "a" could not be loaded. The log of the server says why.' },
      });
    }
    expect([seen.numLoads, state()]).toEqual([1, 'unloaded']);
    seen.beforeLoad = undefined;
    await models.acquire('a');
    expect([seen.numLoads, state()]).toEqual([2, 'loaded']);
    await models.dispose();
  });

  it('lets a caller go while it loads; the load goes on, and its model serves the next', async () => {
    const { models, seen, state } = manager();
    const { open, opened } = gate();
    seen.beforeLoad = () => opened;
    const controller = new AbortController();
    const waiting = models.acquire('a', controller.signal);
    const reason = new Error('gone');
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(state()).toBe('loading');
    open();
    await models.acquire('a');
    expect(seen.numLoads).toBe(1);
    await expect(models.acquire('a', controller.signal)).rejects.toBe(reason);
    await models.dispose();
  });

  it('unloads what nobody uses, also when nobody has waited for it to the end', async () => {
    const { models, seen, state } = manager({ idleTimeoutMs: 1 });
    const { open, opened } = gate();
    seen.beforeLoad = () => opened;
    const controller = new AbortController();
    const waiting = models.acquire('a', controller.signal);
    controller.abort();
    await expect(waiting).rejects.toThrow();
    await delay(20);
    expect(state()).toBe('loading');
    open();
    await until(() => seen.numLoaded === 1);
    await until(() => seen.numLoaded === 0);
    expect([seen.numLoads, state()]).toEqual([1, 'unloaded']);
    await models.dispose();
  });

  it('never unloads what is leased, and counts a lease once however often it is given back', async () => {
    const { models, seen, state } = manager({ idleTimeoutMs: 1 });
    const [first, second] = [await models.acquire('a'), await models.acquire('a')];
    first.release();
    first.release();
    await delay(20);
    expect(state()).toBe('loaded');
    expect(second.served.model.isDisposed).toBe(false);
    second.release();
    await until(() => seen.numLoaded === 0);
    expect(state()).toBe('unloaded');
    await models.dispose();
  });

  it('loads anew for who comes while it is unloaded, once the memory is free', async () => {
    const { models, seen, state } = manager({ idleTimeoutMs: 1 });
    const { open, opened } = gate();
    seen.beforeDispose = () => opened;
    const first = await models.acquire('a');
    first.release();
    await until(() => state() === 'unloaded');
    const second = models.acquire('a');
    await delay(10);
    expect([state(), seen.numLoads]).toEqual(['loading', 1]);
    open();
    const { served } = await second;
    expect(served).not.toBe(first.served);
    expect(served.model.isDisposed).toBe(false);
    expect(first.served.model.isDisposed).toBe(true);
    expect([seen.numLoads, seen.mostLoaded]).toEqual([2, 1]);
    await models.dispose();
    expect(seen.numLoaded).toBe(0);
  });

  it('is disposed during a load: nobody gets the model, and it is freed', async () => {
    const { models, seen, state } = manager();
    const { open, opened } = gate();
    seen.beforeLoad = () => opened;
    const waiting = models.acquire('a').catch((error: unknown) => error);
    await until(() => seen.numLoads === 1);
    const disposing = models.dispose();
    expect([state(), models.loaded()]).toEqual(['unloaded', []]);
    open();
    await disposing;
    expect(await waiting).toBeInstanceOf(DisposedError);
    expect([seen.numLoaded, state(), models.loaded()]).toEqual([0, 'unloaded', []]);
    await expect(models.acquire('a')).rejects.toBeInstanceOf(DisposedError);
    expect(seen.numLoads).toBe(1);
  });

  it('is disposed although a model does not go easily', async () => {
    const { models, seen } = manager();
    seen.beforeDispose = async () => {
      throw new Error('busy');
    };
    await models.acquire('a');
    await models.dispose();
    expect(models.loaded()).toEqual([]);
  });
});
