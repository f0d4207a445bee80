import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { outcome, type ProcessOutcome, spawnSources } from '@hearth/command-line/test';

export { outcome } from '@hearth/command-line/test';

const main = new URL('../main.ts', import.meta.url);

/** The random two-layer Llama whose goldens are in the repository. */
export const tinyLlama = fileURLToPath(
  new URL('../../../../packages/golden/fixtures/tiny-llama/model', import.meta.url),
);

/** Runs `hearth` in a process of its own and waits for its end. `input` is piped in; without it standard input is empty. */
export function runCli(
  args: readonly string[],
  options: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<ProcessOutcome> {
  const child = spawnCli(args, { env: options.env });
  child.stdin!.end(options.input ?? '');
  return outcome(child);
}

export function spawnCli(args: readonly string[], options: SpawnOptions = {}): ChildProcess {
  return spawnSources(main, args, options);
}
