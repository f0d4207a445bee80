import { bytesOf, createFakeModel, loopingScript } from '@hearth/engine/test';
import { expect, it } from 'vitest';
import { reasoningTokensOf } from './reasoning-tokens.ts';

it('finds the markers as tokens, and the tokens that go on after the end', async () => {
  const { model } = await createFakeModel({ next: loopingScript('a') });
  // Bytes, but for one token that is the last character of the marker and the first of an answer.
  const tokenBytes = model.tokenizer.tokenBytes.bind(model.tokenizer);
  model.tokenizer.tokenBytes = (id) => (id === 7 ? Uint8Array.from(bytesOf('>{')) : tokenBytes(id));
  const tokens = await reasoningTokensOf(model);
  expect(tokens.beginId).toBeUndefined();
  expect(tokens.endIds).toEqual(bytesOf('</think>'));
  expect(tokens.endLineIds).toEqual(bytesOf('\n</think>'));
  expect(tokens.endOfTextIds).toEqual(model.tokenizer.eosTokenIds);
  expect([...tokens.lineFeeds]).toEqual([[10, 1]]);
  expect(tokens.overshooting.map((ids) => ids.length)).toEqual([0, 1, 0, 0, 0, 0, 0, 0, 0]);
  expect(tokens.overshooting[1]).toEqual([7]);
  expect(reasoningTokensOf(model)).toBe(reasoningTokensOf(model));
  await model.dispose();
});
