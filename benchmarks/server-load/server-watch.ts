import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningServer, residentBytes } from '../hearth-server.ts';

/** What metrics are to be when nobody asks for anything, but for whoever reads them. */
const atRest = {
  hearth_requests_under_way: 1,
  hearth_running: 0,
  hearth_queue_length: 0,
  'hearth_kv_blocks{model="bench",state="owned"}': 0,
};

/** Samples the memory of a server once a second while it works, and looks at its metrics. */
export class ServerWatch {
  readonly #server: RunningServer;
  readonly #timer: NodeJS.Timeout;
  readonly #resident: number[] = [];
  readonly #heap: number[] = [];

  constructor(server: RunningServer) {
    this.#server = server;
    this.#timer = setInterval(() => this.#sample().catch(() => {}), 1000);
  }

  /** Resolves to what was sampled: bytes by second. */
  stop(): { readonly resident: readonly number[]; readonly heap: readonly number[] } {
    clearInterval(this.#timer);
    return { resident: this.#resident, heap: this.#heap };
  }

  /**
   * The metrics that are not as they are to be on a server at rest, after two seconds of grace for clients that have just
   * gone. Empty when nothing has leaked.
   */
  async leaks(): Promise<readonly string[]> {
    for (let attempt = 0; ; attempt++) {
      const lines = (await this.#metrics()).split('\n');
      const found = Object.entries(atRest).flatMap(([name, value]) => {
        const line = lines.find((line) => line.startsWith(name)) ?? `${name} is not there`;
        return line.endsWith(` ${value}`) ? [] : [line];
      });
      if (found.length === 0 || attempt === 20) return found;
      await sleep(100);
    }
  }

  async #metrics(): Promise<string> {
    return (await fetch(`${this.#server.url}/metrics`)).text();
  }

  async #sample(): Promise<void> {
    const text = await this.#metrics();
    this.#resident.push(residentBytes(this.#server.pid));
    this.#heap.push(Number(/^nodejs_heap_size_used_bytes (\S+)$/m.exec(text)![1]));
  }
}

/**
 * How much the lowest of the last third is above the lowest of the third before, as a share: what is still there after
 * garbage was collected.
 */
export function growth(samples: readonly number[]): number {
  const third = Math.floor(samples.length / 3);
  const lowest = (from: number, to?: number) => Math.min(...samples.slice(from, to));
  return lowest(-third) / lowest(-2 * third, -third) - 1;
}
