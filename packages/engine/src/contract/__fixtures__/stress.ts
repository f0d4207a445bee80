import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import type { GenerateOptions } from '../../generate/generate-options.ts';
import type { GenerateResult, Generation } from '../../generate/generation.ts';
import type { Model } from '../../model/model.ts';
import type { Session } from '../../session/session.ts';
import { expectNoBlockInUse } from './together.ts';

/** What a client may ask for, and a run of tokens of its own that is in every prompt of it and in no other's. */
export interface StressClient {
  readonly secret: readonly number[];
  readonly requests: readonly { readonly prompt: readonly number[]; readonly options: GenerateOptions }[];
}

export interface StressOptions {
  readonly clients: readonly StressClient[];
  readonly numRequestsPerClient: number;
  readonly seed: number;
}

/** How often answers came to which end, and what memory was in use after a third of them and at the end, in bytes. */
export interface StressReport {
  numFinished: number;
  numCutShort: number;
  readonly heapBytes: number[];
  readonly rssBytes: number[];
}

/** What becomes of a request. */
const fates = [
  'finish',
  'finish',
  'finish',
  'deadline',
  'before',
  'queue',
  'prefill',
  'decode',
  'leave',
  'dispose',
] as const;
type Fate = (typeof fates)[number];

/**
 * Clients that ask one thing after the other, all at the same time, and give up at any moment: before the work, in the queue,
 * in prefill, in decode, by leaving the iteration, by a deadline, by disposing the session. Every answer that is finished
 * must be that of `plain`, alone; every other one must be the beginning of it; and nothing may be left behind.
 */
export async function stress(model: Model, plain: Model, options: StressOptions): Promise<StressReport> {
  const { clients, numRequestsPerClient, seed } = options;
  const solos = new Map<object, GenerateResult>();
  for (const { requests } of clients) for (const request of requests) solos.set(request, await alone(plain, request));

  const report: StressReport = { numFinished: 0, numCutShort: 0, heapBytes: [], rssBytes: [] };
  const play = (first: number, last: number) =>
    Promise.all(
      clients.map(async (client, c) => {
        const random = randomNumbers(seed + 1000 * c + first);
        const others = clients.filter((other) => other !== client);
        // The session before stays, idle: others may take its blocks.
        let idle: Session | undefined;
        for (let i = first; i < last; i++) {
          const request = client.requests[random(client.requests.length)]!;
          const session = model.createSession({ tokenIds: request.prompt });
          const fate = fates[random(fates.length)]!;
          const made = await meet(session, request.options, fate, random);
          const solo = solos.get(request)!;
          if (fate === 'finish') expect(made).toEqual(solo.tokenIds);
          else expect(made).toEqual(solo.tokenIds.slice(0, made.length));
          for (const { secret } of others) expect(holds(made, secret)).toBe(false);
          if (made.length === solo.tokenIds.length) report.numFinished++;
          else report.numCutShort++;
          await idle?.dispose();
          idle = session;
        }
        await idle?.dispose();
      }),
    );
  const warmUp = Math.ceil(numRequestsPerClient / 3);
  await play(0, warmUp);
  measureMemory(report);
  await play(warmUp, numRequestsPerClient);
  measureMemory(report);
  await expectNoBlockInUse(model);
  return report;
}

async function alone(plain: Model, { prompt, options }: StressClient['requests'][number]): Promise<GenerateResult> {
  const session = plain.createSession({ tokenIds: prompt });
  const result = await session.generate({ ...options, speculation: false }).result;
  await session.dispose();
  return result;
}

/** Generates, and lets it come to its fate. Returns the tokens that were made. */
async function meet(session: Session, options: GenerateOptions, fate: Fate, random: (below: number) => number) {
  const { length } = session;
  const controller = new AbortController();
  if (fate === 'before') controller.abort();
  const generation = session.generate({
    ...options,
    priority: random(3),
    signal: controller.signal,
    ...(fate === 'deadline' && { timeoutMs: 1 + random(30) }),
  });
  try {
    if (fate === 'queue') await generation.cancel();
    if (fate === 'prefill') {
      for (let turns = random(6); turns > 0; turns--) await nextTurn();
      controller.abort();
    }
    if (fate === 'decode' || fate === 'leave' || fate === 'dispose') {
      await giveUpAfter(
        generation,
        random(options.maxTokens ?? 10),
        {
          decode: () => generation.cancel(),
          leave: async () => {},
          dispose: () => session.dispose(),
        }[fate],
      );
    }
    await generation.result;
  } catch (error) {
    const code = { before: 'aborted', prefill: 'aborted', dispose: 'disposed', deadline: 'deadline' }[fate as string];
    expect(error).toMatchObject({ code });
  }
  return session.tokenIds.slice(length);
}

async function giveUpAfter(generation: Generation, numTokens: number, giveUp: () => Promise<void>): Promise<void> {
  for await (const event of generation) {
    if (event.index < numTokens) continue;
    await giveUp();
    return;
  }
}

function holds(tokenIds: readonly number[], secret: readonly number[]): boolean {
  return tokenIds.some((_, at) => secret.every((id, i) => tokenIds[at + i] === id));
}

/** Whole numbers from 0 that are below what is asked for; mulberry32. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

function measureMemory(report: StressReport): void {
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  report.heapBytes.push(heapUsed);
  report.rssBytes.push(rss);
}
