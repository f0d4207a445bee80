import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { outcome, runCli, spawnCli, tinyLlama } from '../__fixtures__/run-cli.ts';

const tiny = ['-m', tinyLlama, '--backend', 'reference'];
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const terminalControl = /[\u001b\r]/;

/** An answer that is still being made when its first text arrives. */
function startLongAnswer() {
  const sampling = ['--temperature', '1', '--seed', '1'];
  const child = spawnCli(['generate', ...tiny, '--raw', '-p', 'abc', '-n', '500', ...sampling]);
  child.stdin!.end();
  return child;
}

describe('hearth generate', () => {
  it('prints the answer and a newline on standard output, and nothing else anywhere', async () => {
    const json = await runCli(['generate', ...tiny, '--prompt', 'abc', '-n', '8', '--json']);
    const plain = await runCli(['generate', ...tiny, '--prompt', 'abc', '-n', '8']);
    expect(plain).toEqual({ code: 0, signal: null, stdout: `${JSON.parse(json.stdout).text}\n`, stderr: '' });
  });

  it('reads a piped prompt, and writes no control characters into pipes', async () => {
    const piped = await runCli(['generate', ...tiny, '-n', '8'], { input: 'abc\n' });
    const given = await runCli(['generate', ...tiny, '-n', '8', '--prompt', 'abc']);
    expect(piped).toEqual(given);
    expect(piped.stderr).not.toMatch(terminalControl);
  });

  it('is a usage error without a prompt and without a terminal', async () => {
    const { code, stdout, stderr } = await runCli(['generate', ...tiny]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: There is no prompt\. Pipe it in, or pass it to `hearth generate --prompt TEXT`/);
  });

  it('refuses a prompt that does not fit before it loads weights, with both numbers', async () => {
    const { code, stderr } = await runCli([
      'generate',
      ...tiny,
      '--raw',
      '--context',
      '16',
      '--prompt',
      'x y '.repeat(10),
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: The context holds 16 tokens, but \d\d are needed\./);
  });

  it('prints one JSON object that says what is needed to get the answer again', async () => {
    const { stdout } = await runCli(['generate', ...tiny, '--prompt', 'abc', '-n', '4', '--json', '--logprobs', '2']);
    const report = JSON.parse(stdout);
    expect(report.token_ids.length).toBe(report.usage.completion_tokens);
    expect(report.logprobs[0].top_logprobs.length).toBe(2);
    expect(report.usage.prompt_tokens).toBe(report.prompt_token_ids.length);
    expect(['stop', 'length']).toContain(report.finish_reason);
    expect(report.timings.decode_tokens_per_second).toBeGreaterThan(0);
    // 2 layers, keys and values of 2 heads of 16 in f16.
    expect(report.memory.kv_bytes_per_token).toBe(2 * 2 * 2 * 16 * 2);
    expect(report.memory.peak_resident_bytes).toBeGreaterThan(1e6);
    expect(report.record.backend.kind).toBe('reference');
    expect(report.record.model.fingerprint).toMatch(/^[0-9a-f]{64}$/);
    expect(report.record.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  it('gives the same text for the same seed, and another for another', async () => {
    const sample = async (seed: string) =>
      (await runCli(['generate', ...tiny, '--raw', '-p', 'abc', '-n', '24', '--temperature', '1.5', '--seed', seed]))
        .stdout;
    const [a, b, c] = [
      await sample('9007199254740993'),
      await sample('9007199254740993'),
      await sample('9007199254740992'),
    ];
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });

  it('prints profiles of prefill and decode on standard error when asked', async () => {
    const { stderr } = await runCli(['generate', ...tiny, '-p', 'abc', '-n', '3', '--profile']);
    const [, prefill, decode] = stderr.split(/^prefill$|^decode$/m);
    for (const table of [prefill, decode]) {
      expect(table).toMatch(/^\nOPERATOR +KIND +CALLS +MS +US\/CALL +SHARE +GB\/S +GOP\/S\n/);
      expect(table).toMatch(/model\.layers\.\*\.self_attn\.attention +attention/);
      expect(table).toMatch(/\ntotal .* 100\.0% .*\n/);
    }
    // 2 steps of decode through 2 layers.
    expect(decode).toMatch(/model\.layers\.\*\.self_attn\.attention +attention +4 /);
  });

  it('holds a profile of native kernels against this machine, by layer if wanted', async () => {
    const flags = ['--backend', 'cpu', '--profile=layers'];
    const { stderr } = await runCli(['generate', '-m', tinyLlama, '-p', 'abc', '-n', '1', ...flags]);
    expect(stderr).toMatch(/^Measuring this machine \.\.\.\n\nprefill\nLAYER .* ROOFLINE\n/);
    expect(stderr).toMatch(/\nmodel\.layers\.0 .* \d+\.\d% (bytes|ops)\nmodel\.layers\.1 /);
    expect(stderr).not.toMatch(/^decode$/m);
  });

  it.each([
    [['--temperature', '-1'], /temperature/],
    [['--temperature', 'warm'], /--temperature.* takes a number, got "warm"/],
    [['--temperature', '0x1'], /--temperature.* takes a number, got "0x1"/],
    [['--top-k', '1.5'], /topK/],
    [['--seed', '0.5'], /--seed takes a whole number/],
    [['--seed', '18446744073709551616'], /seed/],
    [['--logit-bias', '999999=1'], /999999/],
    [['--max-tokens', '-1'], /--max-tokens takes a whole number from 0/],
    [['--profile=neurons'], /Allowed choices are operators, layers/],
    [['--no-such-flag'], /unknown option/],
  ])('refuses %j with exit code 2 and a sentence', async (flags, message) => {
    const { code, stdout, stderr } = await runCli(['generate', ...tiny, '-p', 'abc', ...flags]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n {4}at /);
  });

  it('says so when there is no chat template and the prompt is continued as text', async () => {
    const path = await mkdtemp(join(tmpdir(), 'hearth-cli-'));
    try {
      await cp(tinyLlama, path, { recursive: true });
      const config = join(path, 'tokenizer_config.json');
      const { chat_template: _, ...rest } = JSON.parse(await readFile(config, 'utf8'));
      await writeFile(config, JSON.stringify(rest));
      const flags = ['-m', path, '--backend', 'reference', '-p', 'abc', '-n', '4'];
      const asked = await runCli(['generate', ...flags, '--raw']);
      const fallback = await runCli(['generate', ...flags]);
      expect(asked.stderr).toBe('');
      expect(fallback).toEqual({ ...asked, stderr: expect.stringMatching(/^This model takes no chat messages.*\n$/) });
    } finally {
      await rm(path, { recursive: true });
    }
  });

  it.skipIf(!existsSync('/dev/full'))('says in one sentence that its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      const child = spawnCli(['inspect', tinyLlama], { stdio: ['ignore', full, 'pipe'] });
      const { code, stderr } = await outcome(child);
      expect(stderr).toMatch(/^error: Standard output cannot be written: ENOSPC.*\n$/);
      expect(code).toBe(1);
    } finally {
      closeSync(full);
    }
  });

  it('ends quietly when the reader of its output goes away', async () => {
    const child = startLongAnswer();
    const ended = outcome(child);
    await once(child.stdout!, 'data');
    child.stdout!.destroy();
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('ends quietly on Ctrl-C and stops the work', async () => {
    const child = startLongAnswer();
    const ended = outcome(child);
    await once(child.stdout!, 'data');
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
  });
});
