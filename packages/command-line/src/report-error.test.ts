import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidArgumentError, InvalidModelError } from '@hearth/core';
import { afterEach, expect, it, vi } from 'vitest';
import { reportError } from './report-error.ts';

afterEach(() => vi.restoreAllMocks());

function report(error: unknown): { code: number; stderr: string } {
  let stderr = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
  const code = reportError(error, new AbortController().signal);
  return { code, stderr };
}

it('tells a command line that makes no sense from work that failed', () => {
  expect(report(new InvalidArgumentError('Not so.')).code).toBe(2);
  expect(report(new InvalidModelError('Broken.')).code).toBe(1);
});

it('shows what the system refused in one sentence, and anything else as a bug', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-cli-'));
  const missing = await readFile(join(directory, 'gone')).catch((error: unknown) => error);
  await rm(directory, { recursive: true });
  const refused = report(missing);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/error: ENOENT: .*gone'\n$/) });
  expect(refused.stderr).not.toMatch(/bug/);
  const bug = Object.assign(new Error('no such thing'), { code: 'ENOENT' });
  expect(report(bug)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/unexpected error: .*\n(.*\n)*.*bug in Hearth/),
  });
});
