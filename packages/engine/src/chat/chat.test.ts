import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Model } from '../model/model.ts';
import { bytesOf, fakeTokens } from '../test/byte-codec.ts';
import type { FakeBackend } from '../test/fake-backend.ts';
import { createFakeModel } from '../test/fake-model.ts';
import { chat } from './chat.ts';

const { bos, imStart, imEnd } = fakeTokens;
const greedy = { temperature: 0 } as const;

let model: Model;
let backend: FakeBackend;

/** Says "one", "two" … to the first, second … turn of the user. */
function counting(context: readonly number[]): number {
  const start = context.lastIndexOf(imStart);
  const turn = context.filter((id) => id === imStart).length / 2;
  const reply = bytesOf(['one', 'two', 'three'][turn - 1] ?? 'many');
  return reply[context.length - start - 1 - bytesOf('assistant\n').length] ?? imEnd;
}

beforeEach(async () => {
  ({ model, backend } = await createFakeModel({ next: counting }));
});

afterEach(() => model.dispose());

describe('renderChat', () => {
  it('has one start token and the beginning of the answer (B21)', async () => {
    expect([...(await model.renderChat([{ role: 'user', content: 'hi' }]))]).toEqual([
      bos,
      imStart,
      ...bytesOf('user\nhi'),
      imEnd,
      ...bytesOf('\n'),
      imStart,
      ...bytesOf('assistant\n'),
    ]);
  });

  it('leaves the beginning of the answer out when told so', async () => {
    const tokenIds = await model.renderChat([{ role: 'user', content: 'hi' }], { addGenerationPrompt: false });
    expect([...tokenIds].slice(-2)).toEqual([imEnd, 10]);
  });

  it('keeps control words in messages text (B20)', async () => {
    const tokenIds = [...(await model.renderChat([{ role: 'user', content: 'x<|im_end|>y' }]))];
    expect(tokenIds.filter((id) => id === imEnd)).toHaveLength(1);
    expect(tokenIds.join()).toContain(bytesOf('x<|im_end|>y').join());
  });
});

describe('chat', () => {
  it('answers once, and leaves no session behind', async () => {
    const generation = await chat(model, [{ role: 'user', content: 'hi' }], greedy);
    expect(await generation.result).toMatchObject({ text: 'one', finishReason: 'stop', stopTokenId: imEnd });
    await new Promise(setImmediate);
    const all = model.createSession({ tokenIds: Array.from({ length: 256 }, () => 1) });
    await all.prefill();
    expect(all.numCachedTokens).toBe(256);
  });

  it('computes only what is new in a second turn', async () => {
    const session = model.createSession();
    const messages = [{ role: 'user', content: 'hi' }];
    const first = await (await chat(model, messages, { ...greedy, session })).result;
    messages.push({ role: 'assistant', content: first.text }, { role: 'user', content: 'and now?' });
    const before = backend.batches.length;
    const second = await (await chat(model, messages, { ...greedy, session })).result;
    expect(second.text).toBe('two');
    // All of the first turn but its end token, which was sampled and never computed.
    expect(second.usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens - 1);
    const computed = backend.batches.slice(before).reduce((sum, batch) => sum + batch.tokenIds.length, 0);
    expect(computed).toBe(second.usage.promptTokens - second.usage.cachedTokens + second.usage.completionTokens - 1);
    // As without a session.
    const fresh = await (await chat(model, messages, greedy)).result;
    expect([fresh.text, fresh.tokenIds]).toEqual([second.text, second.tokenIds]);
  });

  it('cuts the session back to what a changed conversation has in common with it', async () => {
    const session = model.createSession();
    await (await chat(model, [{ role: 'user', content: 'hi there' }], { ...greedy, session })).result;
    const { usage } = await (await chat(model, [{ role: 'user', content: 'hi Anna' }], { ...greedy, session })).result;
    expect(usage.cachedTokens).toBe([bos, imStart, ...bytesOf('user\nhi ')].length);
  });

  it('keeps the anchor', async () => {
    const system = [{ role: 'system', content: 'Be brief.' }];
    const tokenIds = await model.renderChat(system, { addGenerationPrompt: false });
    const session = model.createSession({ tokenIds, anchor: tokenIds.length });
    const messages = [...system, { role: 'user', content: 'hi' }];
    expect((await (await chat(model, messages, { ...greedy, session })).result).finishReason).toBe('stop');
    const length = session.length;
    const other = chat(model, [{ role: 'system', content: 'Be long.' }], { ...greedy, session });
    await expect(other).rejects.toMatchObject({ code: 'below_anchor' });
    expect(session.length).toBe(length);
  });

  it('refuses a conversation that does not fit, and keeps the session', async () => {
    const session = model.createSession({ tokenIds: [1, 2] });
    const messages = [{ role: 'user', content: 'x'.repeat(300) }];
    await expect(chat(model, messages, { session })).rejects.toMatchObject({ code: 'context_length_exceeded' });
    await expect(chat(model, messages)).rejects.toMatchObject({ code: 'context_length_exceeded' });
    expect(session.tokenIds).toEqual([1, 2]);
  });

  it('refuses a session of another model', async () => {
    const other = await createFakeModel({ next: counting });
    const session = other.model.createSession({ tokenIds: [1, 2] });
    const messages = [{ role: 'user', content: 'hi' }];
    await expect(chat(model, messages, { session })).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(session.tokenIds).toEqual([1, 2]);
    expect((await (await chat(other.model, messages, { ...greedy, session })).result).text).toBe('one');
    await other.model.dispose();
  });

  it('refuses a session that is generating, and options that make no sense', async () => {
    const session = model.createSession({ tokenIds: [1] });
    const running = session.generate({ ...greedy, ignoreEos: true });
    const messages = [{ role: 'user', content: 'hi' }];
    await expect(chat(model, messages, { session })).rejects.toMatchObject({ code: 'session_busy' });
    await running.cancel();
    await expect(chat(model, messages, { maxTokens: -1 })).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(chat(model, messages, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  });
});
