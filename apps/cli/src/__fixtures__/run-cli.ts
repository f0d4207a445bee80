import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const main = fileURLToPath(new URL('../main.ts', import.meta.url));

/** The random two-layer Llama whose goldens are in the repository. */
export const tinyLlama = fileURLToPath(
  new URL('../../../../packages/golden/fixtures/tiny-llama/model', import.meta.url),
);

/** Arguments of `node` that run the CLI from its sources. */
export const cliArguments = [
  '--import',
  pathToFileURL(require.resolve('tsx')).href,
  '--conditions=@hearth/source',
  '--no-warnings',
  main,
];

export interface CliResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `hearth` in a process of its own and waits for its end. `input` is piped in; without it standard input is empty. */
export function runCli(
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<CliResult> {
  const child = spawnCli(args, { env: options.env });
  child.stdin!.end(options.input ?? '');
  return outcome(child);
}

export function spawnCli(args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const env = { ...process.env, NO_COLOR: undefined, ...options.env };
  return spawn(process.execPath, [...cliArguments, ...args], { stdio: 'pipe', ...options, env });
}

/** What a process wrote, and how it ended. */
export async function outcome(child: ChildProcess): Promise<CliResult> {
  const chunks: Record<'stdout' | 'stderr', Buffer[]> = { stdout: [], stderr: [] };
  child.stdout?.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (...ending) => resolve(ending));
  });
  const text = (name: 'stdout' | 'stderr') => Buffer.concat(chunks[name]).toString('utf8');
  return { code, signal, stdout: text('stdout'), stderr: text('stderr') };
}
