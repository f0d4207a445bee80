import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { fakeTokens } from '../test/byte-codec.ts';
import { createFakeModel } from '../test/index.ts';
import { compareLogits } from './compare-logits.ts';
import { perplexity } from './perplexity.ts';
import { slidingWindows } from './windows.ts';

/** Logits that depend on the whole visible context: of token (sum of the context) mod 50 and its neighbours. */
function contextLogits(sharpness: number) {
  return (context: readonly number[]): Float32Array => {
    const row = new Float32Array(fakeTokens.vocabSize);
    const peak = context.reduce((sum, id) => sum + id, 0) % 50;
    for (let id = 0; id < row.length; id++) row[id] = Math.fround(-sharpness * Math.abs(id - peak));
    return row;
  };
}

function nllOf(row: Float32Array, token: number): number {
  return Math.log(row.reduce((sum, logit) => sum + Math.exp(logit), 0)) - row[token]!;
}

describe('slidingWindows', () => {
  it('scores every token once, each with at least length − stride tokens before it once there are so many', () => {
    for (const scoresFirst of [true, false]) {
      for (const [numTokens, length, stride] of [
        [10, 4, 2],
        [11, 4, 4],
        [3, 8, 4],
        [8, 8, 8],
        [9, 8, 8],
        [2, 4, 1],
      ] as const) {
        const windows = [...slidingWindows(numTokens, { length, stride, scoresFirst })];
        const scored = windows.flatMap(({ scoreFrom, end }) =>
          Array.from({ length: end - scoreFrom }, (_, i) => scoreFrom + i),
        );
        expect(scored).toEqual(Array.from({ length: numTokens }, (_, i) => i).slice(scoresFirst ? 0 : 1));
        for (const { begin, scoreFrom, end } of windows) {
          expect(end - begin).toBeLessThanOrEqual(length);
          if (begin > 0) expect(scoreFrom - begin).toBe(length - stride);
        }
      }
    }
  });
});

describe('compareLogits', () => {
  it('gives the divergence of known distributions', () => {
    const p = Float32Array.of(Math.log(0.5), Math.log(0.25), Math.log(0.25));
    const q = Float32Array.of(Math.log(0.25), Math.log(0.5), Math.log(0.25));
    const { kl, nll, otherNll, agree } = compareLogits(p, q, 1);
    expect(kl).toBeCloseTo(0.25 * Math.log(0.25 / 0.5) + 0.5 * Math.log(0.5 / 0.25), 6);
    expect(nll).toBeCloseTo(Math.log(4), 6);
    expect(otherNll).toBeCloseTo(Math.log(2), 6);
    expect(agree).toBe(false);
    expect(compareLogits(p, p, 0)).toMatchObject({ kl: 0, agree: true });
  });
});

describe('perplexity', () => {
  const text = Int32Array.from({ length: 45 }, (_, i) => (i * 7) % 50);

  it('is exp of the mean negative log-likelihood over the windows, each with BOS', async () => {
    const logits = contextLogits(0.3);
    const { model } = await createFakeModel({ next: logits });
    const progress: number[] = [];
    const result = await perplexity(model, text, {
      window: 16,
      stride: 8,
      onProgress: ({ doneTokens }) => progress.push(doneTokens),
    });
    let sum = 0;
    for (const { begin, scoreFrom, end } of slidingWindows(45, { length: 15, stride: 8, scoresFirst: true })) {
      for (let i = scoreFrom; i < end; i++)
        sum += nllOf(logits([fakeTokens.bos, ...text.subarray(begin, i)]), text[i]!);
    }
    expect(result.numTokens).toBe(45);
    // Log-probabilities are f32.
    expect(result.meanNll).toBeCloseTo(sum / 45, 5);
    expect(result.perplexity).toBeCloseTo(Math.exp(sum / 45), 3);
    expect(result.standardError).toBeGreaterThan(0);
    expect(progress.at(-1)).toBe(45);
    await model.dispose();
  });

  it('does not score the first token of a text without BOS, whatever the stride', async () => {
    const logits = contextLogits(0.3);
    const { model } = await createFakeModel({ next: logits, addsBos: false });
    for (const stride of [4, 8, 15]) {
      let sum = 0;
      for (const { begin, scoreFrom, end } of slidingWindows(45, { length: 16, stride, scoresFirst: false })) {
        for (let i = scoreFrom; i < end; i++) sum += nllOf(logits([...text.subarray(begin, i)]), text[i]!);
      }
      for (const against of [undefined, model]) {
        const result = await perplexity(model, text, { window: 16, stride, against });
        expect(result.numTokens).toBe(44);
        expect(result.meanNll).toBeCloseTo(sum / 44, 5);
      }
    }
    await expect(perplexity(model, text, { window: 16, stride: 16 })).rejects.toThrow(/stride must be .* from 1 to 15/);
    await model.dispose();
  });

  it('compares with another model: with itself nothing differs, and both ways of scoring agree', async () => {
    const { model } = await createFakeModel({ next: contextLogits(0.3) });
    const { model: same } = await createFakeModel({ next: contextLogits(0.3) });
    const { model: flatter } = await createFakeModel({ next: contextLogits(0.1) });
    const sizes = { window: 16, stride: 5 };
    const plain = await perplexity(model, text, sizes);
    const compared = await perplexity(model, text, { ...sizes, against: same });
    expect(compared.against).toMatchObject({ top1Agreement: 1, meanKl: 0 });
    expect(compared.meanNll).toBeCloseTo(plain.meanNll, 5);
    const other = await perplexity(model, text, { ...sizes, against: flatter });
    expect(other.against!.top1Agreement).toBe(1);
    expect(other.against!.meanKl).toBeGreaterThan(0.01);
    expect(other.against!.perplexity).toBeCloseTo((await perplexity(flatter, text, sizes)).perplexity, 3);
    for (const each of [model, same, flatter]) await each.dispose();
  });

  it('gives the event loop a turn after each token that it compares', async () => {
    const { model } = await createFakeModel({ next: contextLogits(0.3) });
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const { numTokens } = await perplexity(model, text, { window: 64, against: model });
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(numTokens);
    await model.dispose();
  });

  it.each([
    [{ window: 3 }, /window must be/],
    [{ window: 1000 }, /window must be .* context of 256/],
    [{ window: 16, stride: 0 }, /stride must be .* from 1 to 15/],
    [{ window: 16, stride: 16 }, /stride must be/],
  ])('refuses %j', async (options, message) => {
    const { model } = await createFakeModel({ next: contextLogits(1) });
    const run = perplexity(model, text, options);
    await expect(run).rejects.toThrow(InvalidArgumentError);
    await expect(run).rejects.toThrow(message);
    await expect(perplexity(model, Int32Array.of(1))).rejects.toThrow(/at least two/);
    await model.dispose();
  });

  it('stops when its signal fires', async () => {
    const { model } = await createFakeModel({ next: contextLogits(1) });
    const controller = new AbortController();
    const run = perplexity(model, text, {
      window: 16,
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(run).rejects.toMatchObject({ code: 'aborted' });
    await model.dispose();
  });
});
