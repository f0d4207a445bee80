import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { outcome, runCli, spawnCli, tinyLlama } from '../__fixtures__/run-cli.ts';

const short = ['--prompt-tokens', '12', '--generate-tokens', '4', '--rounds', '2', '--context', '64'];
const reference = ['bench', tinyLlama, '--backend', 'reference', ...short];
const cpu = ['bench', tinyLlama, '--backend', 'cpu', '--threads', '2', ...short];

describe('hearth bench', () => {
  it('prints a table on standard output, and how far it is on standard error', async () => {
    const { code, stdout, stderr } = await runCli(reference);
    expect(stdout).toMatch(/^.*, 1 thread, f16 cache\nPHASE +CONTEXT +TOKENS +TOKENS\/S +SPREAD\n/);
    expect(stdout).toMatch(/\nprefill +0 +12 +\d+\.\d +±\d+\.\d%\ndecode +0 +4 .*\ndecode +12 +4 .*\n$/);
    expect(stderr).toBe('Measuring (3 rounds) ...\n');
    expect(code).toBe(0);
  });

  it('prints JSON with every round', async () => {
    const { stdout } = await runCli([...reference, '--json', '--cache-type', 'f32']);
    const report = JSON.parse(stdout);
    expect(report.speeds.map(({ phase, context, tokens }: never) => [phase, context, tokens])).toEqual([
      ['prefill', 0, 12],
      ['decode', 0, 4],
      ['decode', 12, 4],
    ]);
    for (const { tokens_per_second } of report.speeds) {
      const { median, rounds } = tokens_per_second;
      expect(rounds).toHaveLength(2);
      expect(median).toBeCloseTo((rounds[0] + rounds[1]) / 2, 6);
    }
    expect(report.record).toMatchObject({ cache_type: 'f32', backend: { kind: 'reference' }, context_length: 64 });
    expect(report.roofline).toBeUndefined();
  });

  it('measures many sequences at once, together and each of them', async () => {
    const { code, stdout, stderr } = await runCli([...reference, '--sequences', '3']);
    expect(stdout).toMatch(
      /\n3 at once, prefill and decode +12 +15 +\d+\.\d +±\d+\.\d%\neach of them +12 +4 +\d+\.\d +±\d+\.\d%\n$/,
    );
    expect(stderr).toBe('Measuring (3 rounds) ...\nMeasuring 3 at once (3 rounds) ...\n');
    expect(code).toBe(0);
    const { speeds } = JSON.parse((await runCli([...reference, '--sequences', '3', '--json'])).stdout);
    expect(speeds.map(({ phase, sequences }: never) => [phase, sequences])).toEqual([
      ['prefill', 1],
      ['decode', 1],
      ['decode', 1],
      ['together', 3],
      ['each', 3],
    ]);
  });

  it('prints the ceilings of the machine, a profile of each phase and a summary with --roofline', async () => {
    const { code, stdout, stderr } = await runCli([...cpu, '--roofline']);
    expect(stdout).toMatch(/^CEILING +1 THREAD +2 THREADS\nmemory read +\d+\.\d \(\d+\.\d\) GB\/s/);
    expect(stdout).toMatch(/\ninteger dot product \(.+\) +\d+\.\d \(\d+\.\d\) GOP\/s/);
    // The deep context is as deep as this one goes: 64 positions less the generated ones.
    const titles = [...stdout.matchAll(/^(prefill|decode) of .*$/gm)].map(([title]) => title);
    expect(stdout.match(/^\(ceilings beside it: memory \d+\.\d GB\/s, .*\)\nOPERATOR /gm)).toHaveLength(3);
    expect(titles).toEqual([
      'prefill of 12 tokens at 0 of context',
      'decode of 4 tokens at 0 of context',
      'decode of 4 tokens at 59 of context',
    ]);
    expect(stdout).toMatch(/model\.layers\.\*\.self_attn\.attention +attention .* (bytes|ops)\n/);
    expect(stdout).toMatch(
      /\nDecode uses \d+% at 0 of context, \d+% at 59 of context of the memory bandwidth; products of prefill \d+% of the f32 multiply-add peak\.\n$/,
    );
    expect(stderr).toBe('Measuring this machine ...\nMeasuring (3 rounds) ...\nProfiling (6 rounds) ...\n');
    expect(code).toBe(0);
  });

  it('puts the roofline into JSON too', async () => {
    // A prompt of more than a block, which every round has to compute anew.
    const flags = ['--prompt-tokens', '40', '--roofline', '--json'];
    const { roofline } = JSON.parse((await runCli([...cpu, ...flags])).stdout);
    expect(roofline.ceilings.memory_read.all_threads.best).toBeGreaterThan(0);
    const [prefill, decode, deep] = roofline.phases;
    expect(prefill.ceilings.integer).toBeGreaterThan(0);
    expect([prefill.phase, decode.context, deep.context]).toEqual(['prefill', 0, 59]);
    const head = decode.operators.find(({ name }: { name: string }) => name === 'lm_head');
    // 288 rows of 64 in f32, read for each of 4 tokens: the tied embedding.
    expect(head).toMatchObject({ kind: 'linear', calls: 4, weight_bytes: 4 * 288 * 64 * 4, integer_ops: 0 });
    expect(head.float_ops).toBe(4 * 2 * 288 * 64);
    expect(head.roofline.share).toBeGreaterThan(0);
    const down = prefill.operators.find(({ name }: { name: string }) => name.endsWith('mlp.down_proj'));
    expect(down.float_ops).toBe(2 * 40 * 2 * 64 * 96);
  });

  it.each([
    [['--roofline'], 2, /--roofline needs the C\+\+ kernels/],
    [['--prompt-tokens', '0'], 2, /--prompt-tokens takes a whole number from 1/],
    [['--sequences', '257'], 2, /--sequences takes at most 256, got 257/],
    [['--rounds', 'many'], 2, /--rounds takes a number, got "many"/],
    [['--generate-tokens', '60'], 2, /12 tokens of prompt and 60 generated need 73 positions, the context has 64/],
  ])('refuses %j with exit code %i and a sentence', async (flags, expectedCode, message) => {
    const { code, stdout, stderr } = await runCli([...reference, ...flags]);
    expect({ code, stdout }).toEqual({ code: expectedCode, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/\n {4}at /);
  });

  it('wants a model', async () => {
    const { code, stderr } = await runCli(['bench']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/missing required argument 'model'/);
  });

  it('ends quietly on Ctrl-C', async () => {
    const child = spawnCli([...reference, '--rounds', '100000']);
    child.stdin!.end();
    const ended = outcome(child);
    await once(child.stderr!, 'data');
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 130, signal: null, stdout: '', stderr: 'Measuring (100001 rounds) ...\n' });
  });
});
