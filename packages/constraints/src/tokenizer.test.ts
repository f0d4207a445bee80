import { readFileSync } from 'node:fs';
import { loadTokenizer, type Tokenizer } from '@hearth/tokenizer';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { idsOf } from './__fixtures__/walk.ts';
import { type ConstraintCompiler, createConstraintCompiler } from './constraint-compiler.ts';

let tokenizer: Tokenizer;
let compiler: ConstraintCompiler;
beforeAll(async () => {
  const file = new URL('../../tokenizer/src/__fixtures__/smollm.tokenizer.json', import.meta.url);
  tokenizer = await loadTokenizer({
    kind: 'tokenizer-json',
    json: readFileSync(file, 'utf8'),
    config: { eos_token: '<|im_end|>' },
  });
  compiler = createConstraintCompiler(tokenizer, { vocabSize: tokenizer.vocabSize + 40 });
});
afterAll(() => Promise.all([compiler.dispose(), tokenizer.dispose()]));

it('the tokens of a text, as a tokenizer cuts it, obey the constraint of the text and end there', async () => {
  const text = '{"place":"Île 😀 \\"日本\\"","tall":-12.5,"more":[true,null]}';
  const ids = Array.from(await tokenizer.encode(text, { addBos: false }));
  const matcher = (await compiler.compile({ kind: 'json' })).start();
  const masks = await matcher.nextMasks([], ids);
  expect(masks).toHaveLength(ids.length + 1);
  expect(idsOf(masks.at(-1)!)).toEqual([...tokenizer.eosTokenIds]);
  const special = new Set(tokenizer.specialTokens.map(({ id }) => id));
  for (const mask of masks.slice(0, -1)) {
    const allowed = idsOf(mask);
    expect(allowed.filter((id) => special.has(id) || id >= tokenizer.vocabSize)).toEqual([]);
  }
  matcher.dispose();
});
