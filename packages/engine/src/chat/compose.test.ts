import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Model } from '../model/model.ts';
import { fakeTokens } from '../test/byte-codec.ts';
import { createFakeModel } from '../test/fake-model.ts';
import { hashScript } from '../test/scripts.ts';
import { chat } from './chat.ts';
import { compose } from './compose.ts';

const greedy = { temperature: 0, maxTokens: 8 } as const;
/** `<s><|im_start|>user\n` */
const opening = 1 + 1 + 'user\n'.length;

let model: Model;
beforeEach(async () => {
  ({ model } = await createFakeModel({ next: hashScript(fakeTokens.vocabSize), contextLength: 256 }));
});
afterEach(() => model.dispose());

it('computes all but the last word, and the answer is as without it', async () => {
  const session = model.createSession();
  expect(await compose(model, [], 'Why is the sjy bl', { session })).toEqual({
    computedTokens: opening + 'Why is the sjy'.length,
    cachedTokens: 0,
  });
  const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
  const composed = await (await chat(model, messages, { ...greedy, session })).result;
  expect(composed.usage.cachedTokens).toBe(opening + 'Why is the s'.length);
  const fresh = await (await chat(model, messages, { ...greedy, cacheSalt: 'fresh' })).result;
  expect(fresh.tokenIds).toEqual(composed.tokenIds);
});

it('leaves the session free when it is stopped', async () => {
  const session = model.createSession();
  const controller = new AbortController();
  const composing = compose(model, [], 'x '.repeat(100), { session, signal: controller.signal, priority: -1 });
  controller.abort();
  await expect(composing).rejects.toMatchObject({ name: 'AbortError' });
  expect(session.isBusy).toBe(false);
});

it('refuses a draft that does not fit, and keeps the session', async () => {
  const session = model.createSession({ tokenIds: [1, 2] });
  await expect(compose(model, [], `${'x'.repeat(300)} `, { session })).rejects.toMatchObject({
    code: 'context_length_exceeded',
  });
  expect(session.tokenIds).toEqual([1, 2]);
});
