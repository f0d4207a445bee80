import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runCli, tinyLlama } from '../__fixtures__/run-cli.ts';

/** Of the same vocabulary, made for 96 positions. */
const tinyGpt2 = fileURLToPath(new URL('../../../../packages/golden/fixtures/tiny-gpt2/model', import.meta.url));
const generate = ['generate', '-m', tinyLlama, '--backend', 'reference', '-p', 'abc', '-n', '40', '--json'];

async function answer(...flags: string[]) {
  const { stdout, stderr } = await runCli([...generate, ...flags]);
  return { ...JSON.parse(stdout), stderr };
}

describe('speculation on the command line', () => {
  it('changes no token, and says what it came to', async () => {
    const plain = await answer();
    const lookup = await answer('--speculate');
    const draft = await answer('--speculate', '--draft-model', tinyLlama, '--speculate-tokens', '2');
    expect(plain.speculation).toBeUndefined();
    expect(plain.record.draft).toBeUndefined();
    for (const { token_ids } of [lookup, draft]) expect(token_ids).toEqual(plain.token_ids);
    expect(lookup.speculation).toMatchObject({ failures: 0, last_failure: null });
    // The model guesses its own tokens, so a guess falls only where the lookup made it.
    const { attempts, proposed_tokens, accepted_tokens, acceptance } = draft.speculation;
    expect(accepted_tokens).toBeGreaterThan(0);
    expect(acceptance).toBe(accepted_tokens / proposed_tokens);
    expect(proposed_tokens).toBeLessThanOrEqual(2 * attempts);
    expect(draft.record.draft.fingerprint).toBe(plain.record.model.fingerprint);
  });

  it('divides the memory of the cache so that both models hold the same number of tokens', async () => {
    // 256 bytes a position in either, blocks of 32: 3 blocks each, and some that is not enough for one more of both.
    const { memory, stderr } = await answer('--draft-model', tinyLlama, '--cache-memory', '60kB');
    expect(memory).toMatchObject({ kv_tokens: 96, kv_bytes: 96 * 256, draft: { kv_tokens: 96, kv_bytes: 96 * 256 } });
    expect(stderr).toBe('KV cache of 96 positions in each model: model 24.6 kB, model 24.6 kB.\n');
  });

  it('gives a model that is alone all of it', async () => {
    const { memory, token_ids } = await answer('--cache-memory', '60kB', '--no-prefix-cache');
    expect(memory).toMatchObject({ kv_tokens: 7 * 32, kv_bytes: 7 * 32 * 256 });
    expect((await answer('--cache-tokens', '64')).token_ids).toEqual(token_ids);
  });

  it('opens a draft as deep as the model, or as deep as it was made for', async () => {
    const deep = await answer('--draft-model', tinyLlama, '--context', '5000', '-n', '1');
    expect(deep.record).toMatchObject({ context_length: 5000, draft: { context_length: 5000 } });
    const shallow = await answer('--draft-model', tinyGpt2, '--context', '5000', '-n', '1');
    expect(shallow.record).toMatchObject({ context_length: 5000, draft: { context_length: 96 } });
  });

  it('refuses a draft of another vocabulary', async () => {
    const path = await mkdtemp(join(tmpdir(), 'hearth-draft-'));
    try {
      await cp(tinyLlama, path, { recursive: true });
      const tokenizer = join(path, 'tokenizer.json');
      const { model, ...rest } = JSON.parse(await readFile(tokenizer, 'utf8'));
      const { a, b, ...vocab } = model.vocab;
      await writeFile(tokenizer, JSON.stringify({ ...rest, model: { ...model, vocab: { ...vocab, a: b, b: a } } }));
      const { code, stdout, stderr } = await runCli([...generate, '--draft-model', path]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/must have the vocabulary of the model .* is "b" in the draft and "a" in the model/);
    } finally {
      await rm(path, { recursive: true });
    }
  });

  it.each([
    [['--speculate-tokens', '4'], 2, /--speculate-tokens needs --speculate or --draft-model/],
    [['--cache-memory', '1kB'], 2, /cacheBytes must be a whole number from 8192 /],
    [['--cache-tokens', '64', '--cache-memory', '1MB'], 2, /cannot be used with option '--cache-memory <size>'/],
    [['--cache-tokens', '32'], 1, /\d cache blocks are needed, but only 1 of 1 are free/],
    [['--draft-model', './nowhere/model.gguf'], 1, /nowhere\/model\.gguf/],
  ])('refuses %j with exit code %i and a sentence', async (flags, expectedCode, message) => {
    const { code, stdout, stderr } = await runCli([...generate, ...flags]);
    expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n {4}at /);
  });
});
