import { createFakeModel, hashScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PromptWatch, sumUsage } from './prompt-watch.ts';

const promptTokenIds = [1, 2, 3];
let fake: Awaited<ReturnType<typeof createFakeModel>>;

beforeEach(async () => {
  fake = await createFakeModel({ next: hashScript() });
});

afterEach(() => fake.model.dispose());

const start = (maxTokens = 4) =>
  fake.model.createSession({ tokenIds: promptTokenIds }).generate({ maxTokens, temperature: 0 });

describe('PromptWatch', () => {
  it('hands every token on, and tells when the first came and what was between two', async () => {
    const gaps: number[] = [];
    const watch = new PromptWatch(3, (seconds) => gaps.push(seconds));
    const before = performance.now();
    const tokenIds: number[] = [];
    for await (const { tokenId } of watch.watch(start())) tokenIds.push(tokenId);
    expect(tokenIds).toEqual((await start().result).tokenIds);
    expect(gaps).toHaveLength(3);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(watch.firstTokenAt).toBeGreaterThan(before);
    expect(watch.usage).toEqual({ promptTokens: 3, cachedTokens: 0, completionTokens: 4 });
  });

  it('counts the prompt once for several texts, and tokens of results that nobody iterates', async () => {
    const watch = new PromptWatch(3);
    const [first, second] = [watch.watch(start(4)), watch.watch(start(2))];
    await Promise.all([first.result, second.result]);
    expect(watch.usage).toEqual({ promptTokens: 3, cachedTokens: 0, completionTokens: 6 });
    expect(watch.firstTokenAt).toBeUndefined();
  });

  it('counts what was made of a text that is broken off', async () => {
    const watch = new PromptWatch(3);
    const controller = new AbortController();
    const session = fake.model.createSession({ tokenIds: promptTokenIds });
    const generation = watch.watch(session.generate({ maxTokens: 100, temperature: 0, signal: controller.signal }));
    const read = async () => {
      let numRead = 0;
      for await (const _ of generation) {
        if (++numRead === 2) controller.abort();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: 'aborted' });
    const { completionTokens, ...prompt } = watch.usage;
    expect(prompt).toEqual({ promptTokens: 3, cachedTokens: 0 });
    expect(completionTokens).toBeGreaterThanOrEqual(2);
    expect(completionTokens).toBeLessThan(100);
  });

  it('counts nothing of a prompt that nothing came of', async () => {
    const watch = new PromptWatch(3);
    const signal = AbortSignal.abort();
    const session = fake.model.createSession({ tokenIds: promptTokenIds });
    const generation = watch.watch(session.generate({ maxTokens: 2, signal }));
    await expect(generation.result).rejects.toMatchObject({ code: 'aborted' });
    expect(watch.usage).toEqual({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 });
  });

  it('leaves the work when the iteration is left', async () => {
    const generation = new PromptWatch(3).watch(start(100));
    for await (const _ of generation) break;
    expect(await generation.result).toMatchObject({ finishReason: 'cancelled' });
  });
});

describe('sumUsage', () => {
  it('adds up', () => {
    const one = { promptTokens: 3, cachedTokens: 2, completionTokens: 1 };
    expect(sumUsage([])).toEqual({ promptTokens: 0, cachedTokens: 0, completionTokens: 0 });
    expect(sumUsage([one, one])).toEqual({ promptTokens: 6, cachedTokens: 4, completionTokens: 2 });
  });
});
