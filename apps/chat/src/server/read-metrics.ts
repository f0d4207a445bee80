import type { ServerClient } from './server-client.ts';

/** What the statistics are made of: counters that only grow, and values of the moment. All models together. */
export interface ServerSample {
  /** Milliseconds. */
  readonly at: number;
  readonly decodeTokens: number;
  readonly prefillTokens: number;
  readonly proposedTokens: number;
  readonly acceptedTokens: number;
  readonly numRunning: number;
  readonly numWaiting: number;
  /** Blocks of the KV cache. */
  readonly usedBlocks: number;
  readonly cachedBlocks: number;
  readonly freeBlocks: number;
}

/** @throws ServerError */
export async function readMetrics(client: ServerClient, signal?: AbortSignal): Promise<ServerSample> {
  const response = await client.ask('/metrics', { signal });
  return sampleOf(await response.text(), performance.now());
}

/** Reads the text format of Prometheus. */
export function sampleOf(text: string, at: number): ServerSample {
  const sum = (name: string, label = '') => {
    let total = 0;
    for (const line of text.split('\n')) {
      const [, found, labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (found === name && labels.includes(label)) total += Number(value);
    }
    return total;
  };
  return {
    at,
    decodeTokens:
      sum('hearth_step_tokens_total', 'kind="decode"') + sum('hearth_speculation_tokens_total', '"accepted"'),
    prefillTokens: sum('hearth_step_tokens_total', 'kind="prefill"'),
    proposedTokens: sum('hearth_speculation_tokens_total', '"proposed"'),
    acceptedTokens: sum('hearth_speculation_tokens_total', '"accepted"'),
    numRunning: sum('hearth_running'),
    numWaiting: sum('hearth_queue_length'),
    usedBlocks: sum('hearth_kv_blocks', 'state="owned"'),
    cachedBlocks: sum('hearth_kv_blocks', 'state="cached"'),
    freeBlocks: sum('hearth_kv_blocks', 'state="free"'),
  };
}
