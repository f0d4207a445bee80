import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createReferenceBackend } from '@hearth/reference';
import { expect, it, vi } from 'vitest';
import { loadModel } from './index.ts';
import { createFakeModel, loopingScript } from './test/index.ts';

const tinyLlama = fileURLToPath(new URL('../../golden/fixtures/tiny-llama/model', import.meta.url));

type Lines = (...values: unknown[]) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...namesAndBody: string[]) => Lines;

/** A code block of the README as a function of what it imports. */
async function lines(block: number): Promise<{ names: string[]; run: Lines }> {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const code = [...readme.matchAll(/```js\n(.*?)```/gs)][block]![1]!;
  const names = [...code.matchAll(/^import \{ (.*) \} from/gm)].flatMap((match) => match[1]!.split(', '));
  const body = code.replace(/^import .*$/gm, '').replace(/'[^']*\.gguf'/, JSON.stringify(tinyLlama));
  return { names, run: new AsyncFunction(...names, body) };
}

it('has lines in its README that run', async () => {
  const out: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => out.push(String(text)) > 0);
  const log = vi.spyOn(console, 'log').mockImplementation((value) => out.push(value));
  try {
    const { names, run } = await lines(0);
    expect(names).toEqual(['loadModel', 'createCpuBackend']);
    await run(loadModel, createReferenceBackend);
    expect(out.at(-1)).toMatchObject({ cachedTokens: 0 });
  } finally {
    write.mockRestore();
    log.mockRestore();
  }
  const { names, run } = await lines(1);
  expect(names).toEqual(['createFakeModel', 'loopingScript']);
  await run(createFakeModel, loopingScript);
});
