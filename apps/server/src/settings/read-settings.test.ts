import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readSettings } from './read-settings.ts';
import { flagOf, variableOf } from './setting-names.ts';
import { addSettingOptions, givenSettings } from './setting-options.ts';
import { type Settings, settingKeys } from './settings.ts';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-settings-'));
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

interface Sources {
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly file?: unknown;
}

/** The settings of a command line, an environment and a config file. Text is the file as it is. */
async function settingsOf({ flags = [], env = {}, file }: Sources): Promise<Settings> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const path = join(directory, 'hearth.json');
  if (file !== undefined) await writeFile(path, typeof file === 'string' ? file : JSON.stringify(file));
  const command = addSettingOptions(new Command('test').exitOverride());
  command.parse(flags, { from: 'user' });
  return readSettings(givenSettings(command), file === undefined ? undefined : path);
}

describe('settings', () => {
  it('take a flag before a variable, a variable before the file, and the file before the default', async () => {
    const flags = ['--port', '1'];
    const env = { HEARTH_PORT: '2' };
    const file = { port: 3 };
    expect((await settingsOf({ flags, env, file })).port).toBe(1);
    expect((await settingsOf({ env, file })).port).toBe(2);
    vi.unstubAllEnvs();
    expect((await settingsOf({ file })).port).toBe(3);
    expect((await settingsOf({})).port).toBe(8080);
  });

  it('have defaults that are safe', async () => {
    expect(await settingsOf({})).toEqual({
      models: [],
      idleTimeout: 0,
      host: '127.0.0.1',
      port: 8080,
      page: true,
      allowedOrigins: [],
      allowedHosts: [],
      maxBody: 4 * 2 ** 20,
      maxChoices: 64,
      requestTimeout: 600,
      bodyTimeout: 30,
      stallTimeout: 60,
      draftTimeout: 60,
      drainTimeout: 30,
      backend: 'auto',
      fileAccess: 'map',
      logLevel: 'info',
      logPrompts: false,
    });
  });

  /** A text of each setting, and what it stands for. */
  const texts: Readonly<Record<keyof Settings, readonly [text: string, value: unknown]>> = {
    models: ['small=./a.gguf', [{ name: 'small', source: './a.gguf' }]],
    context: ['512', 512],
    cacheType: ['q8', 'q8'],
    cacheMemory: ['1.5GiB', 1.5 * 2 ** 30],
    cacheTokens: ['640', 640],
    prefixCache: ['off', false],
    quantize: ['Q8_0', 'q8_0'],
    speculate: ['on', true],
    speculateTokens: ['3', 3],
    draftModel: ['./draft', './draft'],
    maxSequences: ['7', 7],
    maxQueued: ['0', 0],
    preload: ['off', false],
    idleTimeout: ['0.5', 0.5],
    host: ['::1', '::1'],
    port: ['0', 0],
    page: ['off', false],
    apiKeyFile: ['./keys', './keys'],
    allowedOrigins: ['https://a.example, https://b.example', ['https://a.example', 'https://b.example']],
    allowedHosts: ['a.example', ['a.example']],
    tlsCertificate: ['./cert', './cert'],
    tlsKey: ['./key', './key'],
    maxBody: ['1MB', 1e6],
    maxChoices: ['2', 2],
    requestTimeout: ['1', 1],
    bodyTimeout: ['2', 2],
    draftTimeout: ['30', 30],
    stallTimeout: ['3', 3],
    drainTimeout: ['0', 0],
    conversations: ['./talks.sqlite', './talks.sqlite'],
    backend: ['reference', 'reference'],
    threads: ['2', 2],
    fileAccess: ['read', 'read'],
    logLevel: ['debug', 'debug'],
    logPrompts: ['true', true],
  };
  const needsOther = { tlsCertificate: 'tlsKey', tlsKey: 'tlsCertificate' } as const;

  it.each(settingKeys)('%s is a flag, a variable and a key of the file', async (key) => {
    const [text, value] = texts[key];
    const other = needsOther[key as keyof typeof needsOther];
    const file = other ? { [other]: 'x' } : {};
    expect((await settingsOf({ flags: [flagOf(key), text], file }))[key]).toEqual(value);
    expect((await settingsOf({ file: { ...file, [key]: value } }))[key]).toEqual(value);
    expect((await settingsOf({ env: { [variableOf(key)]: text }, file }))[key]).toEqual(value);
  });

  it('take several models by a flag each, or between commas in the environment', async () => {
    const models = [{ name: 'a', source: 'org/x:y' }, { source: './dir,1/b=c.gguf' }];
    expect((await settingsOf({ flags: ['-m', 'a=org/x:y', '--model', './dir,1/b=c.gguf'] })).models).toEqual(models);
    const env = { HEARTH_MODELS: 'a=org/x:y, b' };
    expect((await settingsOf({ env })).models).toEqual([models[0], { source: 'b' }]);
  });

  it('turn a switch on without its value', async () => {
    const { speculate, logPrompts } = await settingsOf({ flags: ['--speculate', '--log-prompts'] });
    expect({ speculate, logPrompts }).toEqual({ speculate: true, logPrompts: true });
    expect((await settingsOf({ flags: ['--speculate', 'off'], file: { speculate: true } })).speculate).toBe(false);
  });

  it('take a variable that is empty as one that is not set', async () => {
    const env = { HEARTH_PORT: '', HEARTH_MODELS: '', HEARTH_LOG_PROMPTS: '' };
    expect(await settingsOf({ env })).toMatchObject({ port: 8080, models: [], logPrompts: false });
  });

  it('let either flag of the size of the cache go before both keys of the file', async () => {
    const settings = await settingsOf({ flags: ['--cache-memory', '1GB'], file: { cacheTokens: 64 } });
    expect(settings).toMatchObject({ cacheMemory: 1e9 });
    expect(settings.cacheTokens).toBeUndefined();
  });

  it('read a file that begins with a byte order mark', async () => {
    expect((await settingsOf({ file: '\ufeff{"port": 9}' })).port).toBe(9);
  });

  it.each<[Sources, RegExp]>([
    [{ file: { prot: 1 } }, /^.*hearth\.json: "prot" is no setting; --help lists/],
    [
      { file: { models: [{ source: 'a', contxt: 1 }] } },
      /^models\[0\] in .*: "contxt" is no setting of one model; those are name, source, aliases, context, /,
    ],
    [{ file: { models: [{ name: 'a' }] } }, /^models\[0\]\.source in .*: must be there\.$/],
    [{ file: { models: [{ source: 'a', name: 'a\nb' }] } }, /^models\[0\]\.name in .*without control characters/],
    [{ file: { port: '80' } }, /^port in .*: must be a number, got "80"\.$/],
    [{ file: { cacheMemory: '1 potato' } }, /^cacheMemory in .* such as 512MB, got "1 potato"/],
    [{ file: { cacheMemory: null } }, /^cacheMemory in .*must be a size such as 512MB/],
    [{ file: { quantize: 'q9' } }, /^quantize in .*takes one of f32, .*got "q9"/],
    // It is looked at although a flag goes before.
    [{ file: { port: '80' }, flags: ['--port', '1'] }, /^port in /],
    [{ file: { port: 1, host: 2 } }, /^(host|port) in .*/],
    [{ file: '[1]' }, /must hold a JSON object/],
    [{ file: '{"port": 1,}' }, /is no JSON/],
    [{ flags: ['--port', '65536'] }, /^--port: must be at most 65535, got 65536\.$/],
    [{ flags: ['--port', '1.5'] }, /^--port: must be a whole number, got 1\.5\.$/],
    [{ flags: ['--port', '0x50'] }, /^--port takes a number, got "0x50"/],
    [{ env: { HEARTH_PORT: 'http' } }, /^HEARTH_PORT takes a number, got "http"/],
    [{ env: { HEARTH_LOG_PROMPTS: 'no' } }, /^HEARTH_LOG_PROMPTS takes on or off, got "no"/],
    [{ flags: ['--log-level', 'loud'] }, /^--log-level: must be one of debug, info, .*, got "loud"\.$/],
    [{ flags: ['--idle-timeout', '1e9'] }, /^--idle-timeout: must be at most \d+, got 1000000000\.$/],
    [{ flags: ['--request-timeout', '0'] }, /^--request-timeout: must be above 0, got 0\.$/],
    [{ flags: ['--tls-key', 'x'] }, /^--tls-certificate and --tls-key are needed together/],
    [{ file: { cacheMemory: 1, cacheTokens: 1 } }, /cache of all models is: give one/],
    [{ file: { models: [{ source: 'a', cacheMemory: 1, cacheTokens: 1 }] } }, /cache of a is: give one/],
  ])('refuse %j', async (sources, message) => {
    await expect(settingsOf(sources)).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(message) });
  });

  it('refuse a file that is not there', async () => {
    await expect(readSettings(new Map(), join(directory, 'gone.json'))).rejects.toThrow(/gone\.json cannot be read/);
  });
});
