import { describe, expect, it } from 'vitest';
import { makeBatch, prefill, someTokens } from './__fixtures__/batches.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';

describe('a step', () => {
  it.each([1, 7, 64])('gives the same bits when the prompt comes in chunks of %i', async (chunk) => {
    const tokens = someTokens(130);
    const whole = await prefill(await tinyLlama(), tokens);
    const chunked = await prefill(await tinyLlama(), tokens, { chunk });
    expect(chunked.logits).toEqual(whole.logits);
    expect(makeBatch([{ tokenIds: [1], start: 0, blocks: [0] }]).outputRows).toEqual(Int32Array.of(0));
  });
});
