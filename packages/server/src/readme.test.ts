import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { resolveServerOptions } from './server-options.ts';

it('README.md has a row that names each option with a default, and no other', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');
  const table = readme.slice(readme.indexOf('| Option |'), readme.indexOf('With `conversations`'));
  const named = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names]) => names!.replaceAll('`', '').split(', '));
  expect(named.sort()).toEqual(Object.keys(resolveServerOptions({ models: [] })).sort());
});
