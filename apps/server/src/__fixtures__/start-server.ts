import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { outcome, type ProcessOutcome, spawnSources } from '@hearth/command-line/test';

const main = new URL('../main.ts', import.meta.url);

/** The random two-layer Llama whose goldens are in the repository. */
export const tinyLlama = fileURLToPath(
  new URL('../../../../packages/golden/fixtures/tiny-llama/model', import.meta.url),
);

/** Nothing of the person who runs the tests. */
const ownEnvironment = { HEARTH_CONVERSATIONS: 'off' };

export interface RunningServer {
  /** `http://127.0.0.1:40123` */
  readonly url: string;
  readonly child: ChildProcess;
  /** What it writes until it ends, and how it ends. */
  readonly ended: Promise<ProcessOutcome>;
  /** POSTs JSON. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
}

/** Runs `hearth-server` in a process of its own and waits for its end. */
export function runServer(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<ProcessOutcome> {
  return outcome(spawnSources(main, args, { env: { ...ownEnvironment, ...env } }));
}

/**
 * Starts `hearth-server` at a free port, on the reference backend and without the page, and waits until it listens.
 * @throws Error with what it wrote, when it ends instead
 */
export async function startServer(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunningServer> {
  const child = spawnSources(main, ['--port', '0', '--page', 'off', '--backend', 'reference', ...args], {
    env: { ...ownEnvironment, ...env },
  });
  const ended = outcome(child);
  const url = await new Promise<string>((resolve, reject) => {
    let stdout = '';
    child.stdout!.on('data', (chunk: Buffer) => {
      stdout += chunk;
      const [, listening] = /^Listening on (\S+)$/m.exec(stdout) ?? [];
      if (listening) resolve(listening);
    });
    void ended.then((end) => reject(new Error(`The server ended: ${JSON.stringify(end)}`)));
  });
  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      ...init,
      headers: { 'Content-Type': 'application/json', ...init.headers },
    });
  return { url, child, ended, post };
}
