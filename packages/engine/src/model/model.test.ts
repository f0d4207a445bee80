import { AbortError, DisposedError } from '@hearth/core';
import { afterEach, describe, expect, it } from 'vitest';
import { bytesOf, fakeTokens } from '../test/byte-codec.ts';
import { type CreateFakeModelOptions, createFakeModel } from '../test/fake-model.ts';
import { hashScript, loopingScript } from '../test/scripts.ts';

const greedy = { temperature: 0 } as const;
const created: Awaited<ReturnType<typeof createFakeModel>>[] = [];

async function setUp(options: CreateFakeModelOptions) {
  const fake = await createFakeModel(options);
  created.push(fake);
  return fake;
}

afterEach(async () => {
  for (const { model, backend, tokenizer } of created.splice(0)) {
    await model.dispose();
    // Whatever a test did, nothing is left: the backend itself refuses to go before its weights.
    expect([backend.live, backend.isDisposed, tokenizer.isDisposed]).toEqual([
      { executables: 0, weights: 0 },
      true,
      true,
    ]);
  }
});

describe('Model', () => {
  it('generates text from text', async () => {
    const { model } = await setUp({ next: loopingScript('abc😀dé.\n') });
    const tokenIds = await model.tokenizer.encode('hi\n');
    const { text } = await model.createSession({ tokenIds }).generate({ ...greedy, maxTokens: 12 }).result;
    expect(text).toBe('abc😀dé.\n');
  });

  it('ends at every token that ends a text', async () => {
    for (const end of [fakeTokens.eos, fakeTokens.imEnd]) {
      const { model } = await setUp({ next: (context) => (context.length < 4 ? 65 : end) });
      const result = await model.createSession({ tokenIds: [1, 2] }).generate(greedy).result;
      expect(result).toMatchObject({ text: 'AA', finishReason: 'stop', stopTokenId: end });
    }
  });

  it('shows the special tokens that it is asked to, and never the one that ends', async () => {
    const { imStart, imEnd, bos } = fakeTokens;
    const reply = [65, imStart, 66, bos, imEnd];
    const { model } = await setUp({ next: (context) => reply[context.length - 2] ?? 67 });
    const generate = (showSpecialTokens?: number[]) =>
      model.createSession({ tokenIds: [1, 2] }).generate({ ...greedy, showSpecialTokens }).result;
    expect((await generate()).text).toBe('AB');
    expect((await generate([imStart])).text).toBe('A<|im_start|>B');
    const all = await generate([imStart, bos, imEnd]);
    expect(all).toMatchObject({ text: 'A<|im_start|>B<s>', finishReason: 'stop', stopTokenId: imEnd });
    const { stopSequence, text } = await model
      .createSession({ tokenIds: [1, 2] })
      .generate({ ...greedy, showSpecialTokens: [imStart], stop: 'im_start|>B' }).result;
    expect([stopSequence, text]).toEqual(['im_start|>B', 'A<|']);
    for (const showSpecialTokens of [[-1], [1.5], [fakeTokens.vocabSize], 'x' as never]) {
      expect(() => model.createSession({ tokenIds: [1] }).generate({ showSpecialTokens })).toThrow(/showSpecialTokens/);
    }
  });

  it('ends running generations and prefills with a DisposedError', async () => {
    const { model, backend } = await setUp({ next: hashScript() });
    const generating = model.createSession({ tokenIds: [1] }).generate(greedy);
    const prefilling = model.createSession({ tokenIds: bytesOf('x'.repeat(200)) }).prefill();
    const waiting = model.createSession({ tokenIds: [2] }).forward([3]);
    backend.beforeStep = () => new Promise(() => {});
    const outcomes = Promise.allSettled([generating.result, prefilling, waiting]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await model.dispose();
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'disposed', details: { what: 'model' } } });
    }
    await expect(async () => {
      for await (const _ of generating);
    }).rejects.toThrow(DisposedError);
  });

  it('can be disposed while a loop over a generation runs', async () => {
    const { model } = await setUp({ next: hashScript() });
    await expect(async () => {
      for await (const event of model.createSession({ tokenIds: [1] }).generate(greedy)) {
        if (event.index === 3) void model.dispose();
      }
    }).rejects.toThrow(/model was disposed/);
  });

  it('is disposed once, however often it is asked to', async () => {
    const { model } = await setUp({ next: hashScript() });
    const session = model.createSession({ tokenIds: [1] });
    await Promise.all([model.dispose(), model.dispose(), session.dispose()]);
    await model.dispose();
    expect([model.isDisposed, session.isDisposed]).toEqual([true, true]);
  });

  it('refuses everything once it is disposed', async () => {
    const { model } = await setUp({ next: hashScript() });
    const session = model.createSession({ tokenIds: [1] });
    const disposing = model.dispose();
    expect(() => model.createSession()).toThrow(DisposedError);
    await expect(model.renderChat([])).rejects.toThrow(DisposedError);
    await disposing;
    expect(() => session.generate(greedy)).toThrow(DisposedError);
    await expect(model.tokenizer.encode('x')).rejects.toThrow(DisposedError);
  });

  it('lets aborted generations reject with their own reason, disposed or not', async () => {
    const { model, backend } = await setUp({ next: hashScript() });
    backend.beforeStep = () => new Promise(() => {});
    const controller = new AbortController();
    const generation = model.createSession({ tokenIds: [1] }).generate({ ...greedy, signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    const disposing = model.dispose();
    await expect(generation.result).rejects.toThrow(AbortError);
    await disposing;
  });

  it('says that there is no chat template', async () => {
    const { model } = await setUp({ next: hashScript(), hasChatTemplate: false });
    const render = model.renderChat([{ role: 'user', content: 'hi' }]);
    await expect(render).rejects.toMatchObject({ code: 'no_chat_template' });
    expect(model.chatTemplate).toBeNull();
  });
});
