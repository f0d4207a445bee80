import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { flagOf, variableOf } from './setting-names.ts';
import { settingKeys } from './settings.ts';

it('docs/server.md has a row for each setting, and no other', async () => {
  const text = await readFile(new URL('../../../../docs/server.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| .*`(--[a-z-]+)` \| `(HEARTH_[A-Z_]+)` \| `([A-Za-z]+)` \|/gm)];
  const documented = rows.map(([, ...names]) => names);
  expect(documented.sort()).toEqual(settingKeys.map((key) => [flagOf(key), variableOf(key), key]).sort());
});
