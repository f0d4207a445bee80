import { readFile } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { countAccepted, promptLookup, Speculator } from './index.ts';

const exported: Readonly<Record<string, unknown>> = { countAccepted, promptLookup, Speculator };

const AsyncFunction = (async () => {}).constructor as new (
  ...namesAndBody: string[]
) => (...values: unknown[]) => Promise<void>;

it('has lines in its README that run and print what they say', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const printed: unknown[][] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((...values) => printed.push(values));
  try {
    for (const [, code] of readme.matchAll(/```js\n(.*?)```/gs)) {
      const names = [...code!.matchAll(/^import \{ (.*) \} from/gm)].flatMap((match) => match[1]!.split(', '));
      const values = names.map((name) => exported[name]);
      await new AsyncFunction(...names, code!.replace(/^import .*$/gm, ''))(...values);
    }
  } finally {
    log.mockRestore();
  }
  expect(printed).toEqual([[[4, 5, 1]], [7, 23]]);
});
