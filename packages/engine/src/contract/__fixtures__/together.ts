import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Proposer, SpeculationOptions } from '@hearth/speculative';
import { draftModel, promptLookup } from '@hearth/speculative';
import { expect, vi } from 'vitest';
import { CacheExhaustedError } from '../../errors.ts';
import type { GenerateOptions } from '../../generate/generate-options.ts';
import type { GenerateResult } from '../../generate/generation.ts';
import type { Model } from '../../model/model.ts';
import type { Session } from '../../session/session.ts';
import { awaitedMasks } from './awaited-masks.ts';
import type { Client, Guesses, Request } from './client.ts';
import type { Step } from './solo.ts';

/** Models that guess for the one under test. */
export interface DraftModels {
  readonly sameModel: Model;
  readonly otherModel: Model;
}

/** All clients at the same time. Each must get, to the bit, what it gets alone. */
export async function playTogether(
  model: Model,
  clients: readonly (Client & { readonly steps: readonly Step[] })[],
  drafts: DraftModels,
): Promise<void> {
  await Promise.all(
    clients.map(async ({ prompt, cacheSalt, steps }) => {
      const session = model.createSession({ tokenIds: prompt, cacheSalt });
      await playSteps(model, session, steps, drafts);
    }),
  );
  await expectNoBlockInUse(model);
}

/** With all sessions disposed, every block is free, or cached for whoever begins with the same tokens. */
export async function expectNoBlockInUse(model: Model): Promise<void> {
  // A step that was abandoned may still be on its way, with the blocks that are copied for it.
  await vi.waitFor(() => {
    const { numFreeBlocks, numCachedBlocks, numBlocks } = model.stats().cache;
    expect(numFreeBlocks + numCachedBlocks).toBe(numBlocks);
  }, 10_000);
  model.checkIntegrity();
}

/** Ends with the session disposed. */
async function playSteps(model: Model, first: Session, steps: readonly Step[], drafts: DraftModels): Promise<void> {
  let session = first;
  const forks: Promise<void>[] = [];
  try {
    for (const step of steps) {
      if (step.kind === 'fork') forks.push(playSteps(model, session.fork(), step.steps, drafts));
      else if (step.kind === 'saveAndLoad') session = await saveAndLoad(model, session);
      else if (step.kind === 'embed') expectBits(await model.embed(session.tokenIds, step), step.solo);
      else await playStep(session, step, drafts);
    }
  } finally {
    await Promise.all([session.dispose(), ...forks]);
  }
}

/** The session from a file, in place of the one that was saved. */
async function saveAndLoad(model: Model, session: Session): Promise<Session> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-contract-'));
  try {
    const path = join(directory, 'session');
    await session.save(path);
    await session.dispose();
    const loaded = await model.loadSession(path).catch((error: unknown) => {
      // Others work with all of the cache: the tokens are still known.
      if (error instanceof CacheExhaustedError) return model.createSession({ tokenIds: session.tokenIds });
      throw error;
    });
    expect(loaded.tokenIds).toEqual(session.tokenIds);
    return loaded;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function playStep(
  session: Session,
  step: Exclude<Step, { kind: 'fork' | 'saveAndLoad' | 'embed' }>,
  drafts: DraftModels,
): Promise<void> {
  switch (step.kind) {
    case 'generate':
      await (step.request.cancel ? generateAndCancel(session, step, drafts) : generate(session, step, drafts));
      break;
    case 'extend':
      session.extend(step.tokenIds);
      break;
    case 'forward':
      expectBits(await session.forward(step.tokenIds), step.solo);
      break;
    case 'score': {
      // Reduced where the logits are, and here where more of them is asked for: the same numbers.
      const topLogprobs = step.tokenIds.length % 2 === 0 ? 3 : undefined;
      const scores = await session.score(step.tokenIds, { topLogprobs });
      expectBits(scores.logprobs, step.solo.logprobs);
      expect(scores.argmax).toEqual(step.solo.argmax);
      if (topLogprobs) expect(scores.topLogprobs).toEqual(step.solo.topLogprobs);
      break;
    }
    case 'truncate':
      session.truncate(step.length);
      break;
    case 'prefill':
      await session.prefill();
      break;
  }
}

type GenerateStep = Extract<Step, { kind: 'generate' }>;

async function generate(
  session: Session,
  { options, request, solo }: GenerateStep,
  drafts: DraftModels,
): Promise<void> {
  const { length } = session;
  const generation = session.generate({
    ...withMasks(options, request),
    speculation: speculationOf(request.speculation, solo, length, drafts),
  });
  const result = await generation.result;
  expect(answerOf(result, request.logprobs)).toEqual(answerOf(solo, request.logprobs));
  expect(session.tokenIds.slice(length)).toEqual(solo.tokenIds);
}

function withMasks(options: GenerateOptions, { awaitsMasks }: Request): GenerateOptions {
  const { mask, ...others } = options;
  return mask && awaitsMasks ? { ...others, constraint: awaitedMasks(mask) } : options;
}

/** What came before the end is the beginning of the solo answer. It is cut off again, so that what follows can be told. */
async function generateAndCancel(session: Session, step: GenerateStep, drafts: DraftModels): Promise<void> {
  const { options, request, solo } = step;
  const { length } = session;
  const { how, after } = request.cancel!;
  const controller = new AbortController();
  const generation = session.generate({
    ...withMasks(options, request),
    signal: controller.signal,
    speculation: speculationOf(request.speculation, solo, length, drafts),
  });
  const stop = { cancel: () => generation.cancel(), leave: () => {}, signal: () => controller.abort() }[how];
  if (after === 0 && how !== 'leave') await stop();
  try {
    for await (const event of generation) {
      if (event.index + 1 < after) continue;
      await stop();
      if (how === 'leave') break;
    }
    await generation.result;
  } catch (error) {
    expect(error).toMatchObject({ code: 'aborted' });
  }
  expect(session.isBusy).toBe(false);
  const made = session.tokenIds.slice(length);
  expect(made).toEqual(solo.tokenIds.slice(0, made.length));
  session.truncate(length);
}

/** What must be equal: everything but times and counts. */
function answerOf(
  { tokenIds, text, finishReason, stopSequence, stopTokenId, seed, logprobs }: GenerateResult,
  numTop?: number,
) {
  return {
    tokenIds,
    text,
    finishReason,
    stopSequence,
    stopTokenId,
    seed,
    logprobs: numTop === undefined ? undefined : logprobs,
  };
}

function speculationOf(
  { kind, maxTokens, wrongEvery }: Guesses,
  solo: GenerateResult,
  promptLength: number,
  drafts: DraftModels,
): SpeculationOptions | false {
  if (kind === 'none') return false;
  const proposer = {
    lookup: () => promptLookup({ minNgram: 1 }),
    sameModel: () => draftModel(drafts.sameModel),
    otherModel: () => draftModel(drafts.otherModel),
    oracle: () => oracle(solo.tokenIds, promptLength, wrongEvery),
  }[kind];
  // A gate that never closes, so that poor guesses are made as well.
  return { proposers: [proposer()], maxTokens, gate: { minAcceptance: 0 } };
}

/** Knows the answer, but for every `wrongEvery`th token of it. Beyond its end it makes something up. */
function oracle(answer: readonly number[], promptLength: number, wrongEvery: number): Proposer {
  const guess = (index: number) => {
    const right = answer[index] ?? 7;
    return index % wrongEvery === wrongEvery - 1 ? right ^ 1 : right;
  };
  return {
    name: 'oracle',
    start: () => ({
      propose: (tokenIds, maxTokens) =>
        Array.from({ length: maxTokens }, (_, i) => guess(tokenIds.length - promptLength + i)),
      dispose: async () => {},
    }),
  };
}

/** To the bit: −0 is not 0. */
export function expectBits(got: Float32Array, expected: Float32Array): void {
  expect(new Uint32Array(Float32Array.from(got).buffer)).toEqual(new Uint32Array(Float32Array.from(expected).buffer));
}
