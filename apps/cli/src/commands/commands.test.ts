import { cp, mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, tinyLlama } from '../__fixtures__/run-cli.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-cli-'));
});
afterAll(() => rm(directory, { recursive: true }));

describe('hearth', () => {
  it.each([[['--help']], [['generate', '--help']], [['--version']]])(
    '%j prints to standard output and exits 0',
    async (args) => {
      const { code, stdout, stderr } = await runCli(args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout.length).toBeGreaterThan(4);
    },
  );

  it('refuses an unknown command', async () => {
    const { code, stderr } = await runCli(['dance']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/unknown command 'dance'/);
  });
});

describe('hearth inspect', () => {
  it('shows what is in a directory', async () => {
    const { code, stdout } = await runCli(['inspect', tinyLlama]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/architecture +LlamaForCausalLM/);
    expect(stdout).toMatch(/runs here +yes/);
    expect(stdout).toMatch(/model\.layers\.1\.mlp\.down_proj\.weight +f32 +64 x 96 +24\.6 kB/);
    expect(stdout).toMatch(/<\|im_start\|>/);
    expect(stdout).toMatch(/Chat template\n.*for message in messages/);
  });

  it('prints JSON', async () => {
    const { stdout } = await runCli(['inspect', '--json', tinyLlama]);
    const inspection = JSON.parse(stdout);
    expect(inspection.runs).toBe(true);
    expect(inspection.config.hidden_size).toBe(64);
    expect(inspection.tokenizer.vocabSize).toBe(288);
  });

  it('says where it looked for a path that is not there', async () => {
    const { code, stderr } = await runCli(['inspect', './nowhere/model.gguf']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/nowhere\/model\.gguf/);
  });
});

describe('hearth verify', () => {
  it('passes on the model that the goldens were made from', async () => {
    const { code, stdout } = await runCli(['verify', tinyLlama, '--backend', 'reference', '--max-tokens', '4']);
    expect(stdout).toMatch(/ok {4}\d+ tensors/);
    expect(code).toBe(0);
  });

  it('names the first boundary that goes wrong', async () => {
    const broken = join(directory, 'broken');
    await cp(tinyLlama, broken, { recursive: true });
    await spoilTensor(join(broken, 'model.safetensors'), 'model.layers.0.mlp.down_proj.weight');
    const { code, stdout } = await runCli(['verify', broken, '--backend', 'reference', '--max-tokens', '1']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/WRONG first at prefill\/model\.layers\.0\.mlp\.down_proj \[\d+,\d+\]: expected/);
    expect(stdout).toMatch(
      /WRONG 1 weights are not those of the goldens, the first is model\.layers\.0\.mlp\.down_proj\.weight/,
    );
  });
});

describe('hearth perplexity', () => {
  const args = ['perplexity', tinyLlama, '--backend', 'reference', '--text', '-', '--window', '16', '--tokens', '40'];
  const input = 'The quick brown fox jumps over the lazy dog, and the dog does not mind at all.';

  it('prints the perplexity of a text, the speed, and the comparison with itself', async () => {
    const { code, stdout } = await runCli([...args, '--against', tinyLlama], { input });
    expect(stdout).toMatch(/perplexity +\d+\.\d+ ± \d/);
    expect(stdout).toMatch(/tokens +\d+ scored, windows of 16, stride 8/);
    expect(stdout).toMatch(/top-1 +100\.00% of tokens agree/);
    expect(stdout).toMatch(/mean KL +0\.000000 nats/);
    expect(code).toBe(0);
  });

  it('prints JSON', async () => {
    const { stdout } = await runCli([...args, '--json'], { input });
    const result = JSON.parse(stdout);
    expect(result.perplexity).toBeCloseTo(Math.exp(result.meanNll), 6);
    expect(result).toMatchObject({ window: 16, stride: 8 });
  });

  it('says what is wrong with a file or a size', async () => {
    const missing = await runCli(['perplexity', tinyLlama, '--text', join(directory, 'nowhere.txt')]);
    expect(missing.code).toBe(2);
    expect(missing.stderr).toMatch(/nowhere\.txt could not be read/);
    const window = await runCli([...args.slice(0, 6), '--window', '100000'], { input });
    expect(window.stderr).toMatch(/window must be a whole number from 4 to the context of/);
    const none = await runCli(['perplexity', tinyLlama]);
    expect(none.code).toBe(2);
    expect(none.stderr).toMatch(/--text/);
  });
});

describe('hearth list', () => {
  it('lists an empty cache and what can be pulled', async () => {
    const { code, stdout } = await runCli(['list'], { env: { HEARTH_CACHE: join(directory, 'empty') } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/smollm2:135m +98\.4 MB +not here; hearth pull smollm2:135m/);
  });
});

/** Overwrites the first weight of a tensor with another value. */
async function spoilTensor(path: string, name: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const length = Number((await file.read(Buffer.alloc(8), 0, 8, 0)).buffer.readBigUInt64LE());
    const header = JSON.parse((await file.read(Buffer.alloc(length), 0, length, 8)).buffer.toString('utf8'));
    const value = Buffer.alloc(4);
    value.writeFloatLE(3);
    await file.write(value, 0, 4, 8 + length + header[name].data_offsets[0]);
  } finally {
    await file.close();
  }
}

describe('hearth cache', () => {
  it('lists packed weights, which list mentions, and deletes them', async () => {
    const env = { HEARTH_CACHE: join(directory, 'cache'), HEARTH_PACKED_CACHE: 'off' };
    const packed = join(env.HEARTH_CACHE, 'packed');
    await mkdir(packed, { recursive: true });
    await writeFile(join(packed, 'a.packed'), new Uint8Array(5000));
    expect((await runCli(['cache'], { env })).stdout).toMatch(/\(damaged\) +5\.0 kB +\d{4}-.*\n5\.0 kB in .*packed\n/);
    expect((await runCli(['list'], { env })).stdout).toMatch(/Packed weights take 5\.0 kB/);
    const { stdout, stderr, code } = await runCli(['cache', '--clear'], { env });
    expect({ stdout, stderr, code }).toEqual({ stdout: '', stderr: '5.0 kB freed\n', code: 0 });
    expect(JSON.parse((await runCli(['cache', '--json'], { env })).stdout)).toEqual({ directory: packed, files: [] });
  });
});

describe('hearth serve', () => {
  it('is the server, with its settings in the help', async () => {
    const { stdout, code } = await runCli(['serve', '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: hearth serve \[options\]/);
    expect(stdout).toMatch(/--max-queued <n> .*env:\s+HEARTH_MAX_QUEUED/s);
    expect(stdout).toMatch(/\n {2}hearth serve --config \.\/hearth\.json/);
  });

  it('refuses settings as the other commands do', async () => {
    const { stdout, stderr, code } = await runCli(['serve', '--port', 'http']);
    expect({ stdout, stderr, code }).toEqual({
      stdout: '',
      stderr: 'error: --port takes a number, got "http".\n',
      code: 2,
    });
  });
});
