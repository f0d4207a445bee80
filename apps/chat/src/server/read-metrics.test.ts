import { expect, it } from 'vitest';
import { rateBetween } from '../chat/rates.ts';
import { sampleOf } from './read-metrics.ts';

const text = (decode: number, prefill: number) => `# HELP hearth_running Texts and prompts that are in the batch.
# TYPE hearth_running gauge
hearth_running{model="a"} 2
hearth_running{model="b"} 1
hearth_queue_length{model="a"} 4
hearth_kv_blocks{model="a",state="free"} 60
hearth_kv_blocks{model="a",state="cached"} 30
hearth_kv_blocks{model="a",state="owned"} 10
hearth_step_tokens_total{model="a",kind="decode"} ${decode}
hearth_step_tokens_total{model="a",kind="prefill"} ${prefill}
hearth_speculation_tokens_total{model="a",outcome="proposed"} 8
hearth_speculation_tokens_total{model="a",outcome="accepted"} 6
hearth_steps_total{model="a"} 1e3
`;

it('reads what the server counts, all models together', () => {
  expect(sampleOf(text(100, 2e3), 5)).toEqual({
    at: 5,
    decodeTokens: 106,
    prefillTokens: 2000,
    proposedTokens: 8,
    acceptedTokens: 6,
    numRunning: 3,
    numWaiting: 4,
    usedBlocks: 10,
    cachedBlocks: 30,
    freeBlocks: 60,
  });
});

it('makes rates of two samples', () => {
  expect(rateBetween(sampleOf(text(100, 2000), 1000), sampleOf(text(150, 2000), 3000))).toEqual({
    at: 3000,
    decode: 25,
    prefill: 0,
    running: 3,
    waiting: 4,
    cacheUsed: 0.1,
    cacheKept: 0.3,
  });
});

it('has no rate where a model was unloaded between them, or no time has passed', () => {
  expect(rateBetween(sampleOf(text(100, 0), 0), sampleOf(text(50, 0), 1000))).toBeUndefined();
  expect(rateBetween(sampleOf(text(100, 0), 0), sampleOf(text(100, 0), 0))).toBeUndefined();
});

it('has nothing in use where no model is loaded', () => {
  expect(rateBetween(sampleOf('', 0), sampleOf('', 1000))).toMatchObject({ decode: 0, cacheUsed: 0, cacheKept: 0 });
});
