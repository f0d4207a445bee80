// What each quantized type costs: perplexity, top-1 agreement and KL divergence against the same model in f32. Not in CI:
// `pnpm test:models`; the tables are kept in docs/perplexity.md.
import { readFile } from 'node:fs/promises';
import type { QuantizePlan } from '@hearth/checkpoint';
import { loadModel, type Model, type PerplexityResult, perplexity } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { afterAll, describe, expect, it } from 'vitest';
import { cachedModelPath } from './__fixtures__/cached-model.ts';

const dtypes = [
  'f16',
  'bf16',
  'q8_0',
  'q6_k',
  'q5_k',
  'q5_1',
  'q5_0',
  'q4_k',
  'q4_1',
  'iq4_nl',
  'iq4_xs',
  'q4_0',
  'q3_k',
  'q2_k',
] as const;

/** One type for the layers, another for the embedding table, which is SmolLM2's head too. */
const withBetterTable: QuantizePlan = { dtype: 'q4_0', embeddingDtype: 'q8_0' };

/** Models, and how many tokens of the text are scored: enough to tell the types apart, and minutes rather than hours. */
const samples = [
  { name: 'smollm2:135m', numTokens: 2048 },
  { name: 'qwen2.5-coder:0.5b', numTokens: 1024 },
] as const;

const text = await readFile(new URL('../../../benchmarks/texts/alice.txt', import.meta.url), 'utf8');
const paths = await Promise.all(samples.map(({ name }) => cachedModelPath(name)));
const backend = await createCpuBackend();
afterAll(() => backend.dispose());

/** Windows that overlap by the one token that the first scored one follows: the others are run once. */
const window = 512;
const stride = window - 1;

for (const [i, { name, numTokens }] of samples.entries()) {
  const path = paths[i]!;
  const title = path ? name : `${name} (skipped: not in the cache, hearth pull ${name})`;
  describe.skipIf(!path)(title, () => {
    it('stays close to f32 in every type, and closer with more bits', async () => {
      const exact = await load(path, { dtype: 'f32' });
      const rows = [];
      const plans: QuantizePlan[] = [...dtypes.map((dtype) => ({ dtype })), withBetterTable];
      for (const plan of plans) {
        const label = [plan.dtype, ...(plan.embeddingDtype ? [`table ${plan.embeddingDtype}`] : [])].join(', ');
        const model = await load(path, plan);
        const ids = await model.tokenizer.encode(text, { addBos: false });
        const result = await perplexity(model, ids.subarray(0, numTokens), { window, stride, against: exact });
        rows.push({ label, result });
        console.info(tableRow(label, model, result));
        await model.dispose();
      }
      const exactBytes = exact.info.sourceBytes;
      console.info(
        `f32: ${(exactBytes / 1e6).toFixed(1)} MB, perplexity ${rows[0]!.result.against!.perplexity.toFixed(3)}`,
      );
      await exact.dispose();
      const kl = Object.fromEntries(rows.map(({ label, result }) => [label, result.against!.meanKl]));
      // 8 bits lose next to nothing, and each step down loses more.
      expect(kl.f16).toBeLessThan(kl.q8_0!);
      expect(kl.q8_0).toBeLessThan(kl.q5_0!);
      expect(kl.q5_0).toBeLessThan(kl.q4_0!);
      expect(kl.q4_0).toBeLessThan(kl.q2_k!);
      expect(kl['q4_0, table q8_0']).toBeLessThan(kl.q4_0!);
    });
  });
}

function load(path: string, quantize: QuantizePlan): Promise<Model> {
  return loadModel(path, { backend, contextLength: window, quantize, maxOutputRows: 64 });
}

/** A line of the table in docs/perplexity.md. */
function tableRow(label: string, model: Model, result: PerplexityResult): string {
  const { perplexity: value, against } = result;
  const types = Object.entries(model.info.weightDtypes)
    .filter(([type]) => type !== 'f32')
    .map(([type, { tensors }]) => `${type} ${tensors}`)
    .join(', ');
  return `| ${[
    label,
    `${(model.info.sourceBytes / 1e6).toFixed(1)} MB`,
    types,
    value.toFixed(3),
    `${(100 * (value / against!.perplexity - 1)).toFixed(2)}%`,
    `${(100 * against!.top1Agreement).toFixed(2)}%`,
    against!.meanKl.toFixed(5),
  ].join(' | ')} |`;
}
