import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { outcome, runCli, spawnCli, tinyLlama } from '../__fixtures__/run-cli.ts';

const tiny = ['-m', tinyLlama, '--backend', 'reference', '--context', '128'];
const many = ['generate', ...tiny, '--prompts', '-'];

/** The lines on standard output, in the order of the prompts. */
function answers(stdout: string): { index: number; text: string; token_ids: number[]; error?: { code: string } }[] {
  const lines = stdout.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line)).sort((a, b) => a.index - b.index);
}

function promptLines(...prompts: string[]): string {
  return prompts.map((prompt) => `${JSON.stringify({ prompt })}\n`).join('');
}

describe('hearth generate --prompts', () => {
  it('answers each prompt as it would alone', async () => {
    const prompts = ['abc', 'the cat', 'abc def'];
    const { code, stdout, stderr } = await runCli([...many, '-n', '12'], { input: promptLines(...prompts) });
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Answering (3 prompts) ...\n' });
    const lines = answers(stdout);
    expect(lines.map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const [i, prompt] of prompts.entries()) {
      const alone = await runCli(['generate', ...tiny, '-n', '12', '--json', '-p', prompt]);
      expect(lines[i]!.token_ids).toEqual(JSON.parse(alone.stdout).token_ids);
    }
  });

  it('says of each prompt that failed why it did, answers the others, and ends with 1', async () => {
    const input = promptLines('abc', 'x y '.repeat(100), 'def');
    const { code, stdout, stderr } = await runCli([...many, '-n', '4', '--logprobs', '1'], { input });
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nerror: 1 of 3 prompts failed; their lines say why\.\n$/);
    expect(answers(stdout)).toMatchObject([
      { index: 0, logprobs: expect.any(Array), usage: { completion_tokens: expect.any(Number) } },
      { index: 1, error: { code: 'context_length_exceeded' } },
      { index: 2, text: expect.any(String) },
    ]);
  });

  it('fails a prompt that takes too long', async () => {
    const flags = ['--raw', '-n', '100', '--temperature', '1', '--seed', '1', '--timeout', '0.001'];
    const { code, stdout } = await runCli([...many, ...flags], { input: promptLines('abc') });
    expect(answers(stdout)).toMatchObject([{ index: 0, error: { code: 'deadline' } }]);
    expect(code).toBe(1);
  });

  it('ends on Ctrl-C with what has been answered until then', async () => {
    const child = spawnCli([...many, '--raw', '-n', '120', '--temperature', '1', '--seed', '1', '--context', '4096']);
    // More than run at a time: the last ones are not even begun when the first one ends.
    child.stdin!.end(promptLines(...Array.from({ length: 400 }, (_, i) => `abc ${i}`)));
    const ended = outcome(child);
    await once(child.stdout!, 'data');
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 130, stderr: 'Answering (400 prompts) ...\n' });
    const lines = answers(stdout);
    expect(lines.length).toBeLessThan(400);
    expect(lines.every(({ error }) => error === undefined)).toBe(true);
  });

  it.each([
    [['--prompt', 'abc'], /cannot be used with option '-p, --prompt <text>'/],
    [['--json'], /cannot be used with option '--json'/],
  ])('refuses %j beside it with exit code 2', async (flags, message) => {
    const { code, stdout, stderr } = await runCli([...many, ...flags]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
