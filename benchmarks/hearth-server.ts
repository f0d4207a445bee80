// The server as people run it: the built `hearth-server`, in a process of its own, at a free port of the loopback address.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../apps/server/dist/main.js', import.meta.url));

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  /** Shuts it down by SIGTERM; resolves to its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts the server and waits until its model is loaded. What it logs goes to our standard error.
 * @param nodeArgs flags of Node.js, such as `--cpu-prof`
 * @throws Error when it was not built, or ends instead
 */
export async function startHearthServer(
  args: readonly string[],
  nodeArgs: readonly string[] = [],
): Promise<RunningServer> {
  if (!existsSync(program)) throw new Error('hearth-server is not built. Run `pnpm build` first.');
  const own = ['--port', '0', '--log-level', 'warn', '--conversations', 'off'];
  const all = [...nodeArgs, program, ...own, ...args];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
      const [, url] = /^Listening on (\S+)$/m.exec(output) ?? [];
      if (url !== undefined) resolve(url);
    });
    exited.then(([code]) => reject(new Error(`hearth-server ended with exit code ${code}.`)), reject);
  });
  while (!(await fetch(`${url}/ready`)).ok) await sleep(50);
  return {
    url,
    pid: child.pid!,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}

/** Time that the main thread of a process has been on a processor, in nanoseconds, as Linux counts it. */
export function mainThreadNanoseconds(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]);
}

/** Memory of a process that is resident, in bytes. */
export function residentBytes(pid: number): number {
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}
