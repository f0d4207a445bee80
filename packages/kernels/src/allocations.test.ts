import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { firstBlocks, makeBatch } from './__fixtures__/batches.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { loadAddon } from './load-addon.ts';

describe.each(supportedVariants)('steps (%s)', (variant) => {
  it('allocate nothing after the first one', async () => {
    const { testing } = loadAddon();
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const before = testing.allocationCount();
    const executable = await tinyLlama(backend, { dtype: 'q4_1' });
    expect(testing.allocationCount()).toBeGreaterThan(before); // the counter counts

    const blocks = firstBlocks(executable, 700);
    const decode = (position: number) => executable.step(makeBatch([{ tokenIds: [7], start: position, blocks }]));
    await decode(0);
    const afterFirst = testing.allocationCount();
    for (let position = 1; position <= 100; position++) await decode(position);
    // Prefill, several sequences, and a context long enough for groups to be spread over threads.
    await executable.step(makeBatch([{ tokenIds: Array(200).fill(3), start: 101, blocks, outputs: [5, 199] }]));
    await decode(600);
    const output = { kind: 'logprobs', tokenIds: Int32Array.of(3) } as const;
    await executable.step(makeBatch([{ tokenIds: [7], start: 301, blocks }]), { output });
    expect(testing.allocationCount()).toBe(afterFirst);
  });
});
