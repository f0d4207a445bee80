import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Says every second that it runs. When nobody reads that any more it ends, so that a parent that was killed leaves no busy
 * loop behind.
 */
const script = `
  process.stdout.on('error', () => process.exit());
  function work(error) {
    if (error) process.exit();
    const end = Date.now() + 1000;
    while (Date.now() < end);
    process.stdout.write('.', work);
  }
  work();
`;

/** A process that computes without end, on whichever core it is given, until it is stopped. */
export class BusyLoop {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** Resolves when it runs. */
  static async start(): Promise<BusyLoop> {
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const loop = new BusyLoop(child);
    child.stdout!.resume();
    await once(child, 'spawn');
    // Starting up is no busy loop yet.
    await once(child.stdout!, 'data');
    return loop;
  }

  /** Ends this process and no other. */
  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}
