// Perplexity of real models in f32, against Transformers. Not in CI: `pnpm test:models`; its output is kept in docs/test-models.md.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { loadModel, perplexity } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { afterAll, describe, expect, it } from 'vitest';
import { cachedModelPath } from './__fixtures__/cached-model.ts';

interface RecordedPerplexity {
  readonly tokens: number;
  readonly perplexity: number;
}

const workspace = new URL('../../../', import.meta.url);
// Made by tools/golden/perplexity.py.
const recorded = JSON.parse(await readFile(new URL('../fixtures/real/perplexity.json', import.meta.url), 'utf8'));
const text = await readFile(new URL(recorded.text, workspace), 'utf8');
const models = Object.entries(recorded.models as Record<string, RecordedPerplexity>);
const paths = await Promise.all(models.map(([name]) => cachedModelPath(name)));
const backend = await createCpuBackend();
afterAll(() => backend.dispose());

describe('perplexity in f32', () => {
  it('is of the text that Transformers read', () => {
    expect(createHash('sha256').update(text).digest('hex')).toBe(recorded.text_sha256);
  });

  for (const [i, [name, expected]] of models.entries()) {
    const path = paths[i]!;
    const title = path ? name : `${name} (skipped: not in the cache, hearth pull ${name})`;
    it.skipIf(!path)(`${title}: equal to Transformers within 0.1%`, async () => {
      const { window, stride } = recorded;
      const model = await loadModel(path, {
        backend,
        contextLength: window,
        quantize: 'f32',
        cacheDtype: 'f32',
        maxOutputRows: 128,
      });
      try {
        const tokenIds = await model.tokenizer.encode(text, { addBos: false });
        const result = await perplexity(model, tokenIds, { window, stride });
        console.info(
          `${name}: ${result.perplexity} over ${result.numTokens} tokens, Transformers ${expected.perplexity}; ${result.tokensPerSecond.toFixed(1)} tokens/s`,
        );
        expect(result.numTokens).toBe(expected.tokens);
        expect(Math.abs(result.perplexity / expected.perplexity - 1)).toBeLessThan(0.001);
      } finally {
        await model.dispose();
      }
    });
  }
});
