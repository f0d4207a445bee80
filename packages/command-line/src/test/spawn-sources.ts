import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

/** Arguments of `node` before a program that runs from its TypeScript sources, as do the packages it imports. */
const sourceArguments = [
  '--import',
  pathToFileURL(require.resolve('tsx')).href,
  '--conditions=@hearth/source',
  '--no-warnings',
];

export interface ProcessOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Starts a command line in a process of its own, without a build.
 * @param main its main module
 */
export function spawnSources(main: URL, args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  const env = { ...process.env, NO_COLOR: undefined, ...options.env };
  return spawn(process.execPath, [...sourceArguments, fileURLToPath(main), ...args], {
    stdio: 'pipe',
    ...options,
    env,
  });
}

/** What a process wrote, and how it ended. */
export async function outcome(child: ChildProcess): Promise<ProcessOutcome> {
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
