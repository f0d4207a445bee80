import { createTokenMask } from '@hearth/sampler';
import type { GenerateOptions } from '../../generate/generate-options.ts';
import type { GenerateResult } from '../../generate/generation.ts';
import type { Model } from '../../model/model.ts';
import type { RowScores } from '../../session/evaluate-rows.ts';
import { type Action, type Client, mostTokensBefore, type Request, truncatedLength } from './client.ts';
import { tinyContextLength, tinyVocabSize } from './tiny-models.ts';

/** An action with what it gives when it is done alone, from scratch, by a model that does one thing after the other. */
export type Step =
  | {
      readonly kind: 'generate';
      readonly request: Request;
      readonly options: GenerateOptions;
      readonly solo: GenerateResult;
    }
  | { readonly kind: 'extend'; readonly tokenIds: readonly number[] }
  | { readonly kind: 'forward'; readonly tokenIds: readonly number[]; readonly solo: Float32Array }
  | {
      readonly kind: 'score';
      readonly tokenIds: readonly number[];
      readonly solo: RowScores;
    }
  | { readonly kind: 'embed'; readonly priority: number; readonly solo: Float32Array }
  | { readonly kind: 'truncate'; readonly length: number }
  | { readonly kind: 'prefill' | 'saveAndLoad' }
  | { readonly kind: 'fork'; readonly steps: readonly Step[] };

/** Does what a client wants, each action in a session of its own. Actions for which there is no room are left out. */
export async function playAlone(
  plain: Model,
  { prompt, actions }: Pick<Client, 'prompt' | 'actions'>,
): Promise<Step[]> {
  let tokenIds = [...prompt];
  const steps: Step[] = [];
  for (const action of actions) {
    const step = await stepAlone(plain, tokenIds, action);
    if (!step) continue;
    steps.push(step);
    if (step.kind === 'generate' && !step.request.cancel) tokenIds = [...tokenIds, ...step.solo.tokenIds];
    if (step.kind === 'truncate') tokenIds = tokenIds.slice(0, step.length);
    if (step.kind === 'extend' || step.kind === 'forward' || step.kind === 'score')
      tokenIds = [...tokenIds, ...step.tokenIds];
  }
  return steps;
}

async function stepAlone(plain: Model, tokenIds: readonly number[], action: Action): Promise<Step | undefined> {
  const session = plain.createSession({ tokenIds });
  const hasRoomFor = ({ length }: readonly number[]) => tokenIds.length + length <= mostTokensBefore;
  try {
    switch (action.kind) {
      case 'generate': {
        const { request } = action;
        if (tokenIds.length > mostTokensBefore) return undefined;
        const options = await optionsAlone(plain, tokenIds, request);
        // Log-probabilities are always asked for here, so that the choice is made in TypeScript, whoever makes it elsewhere.
        const solo = await session.generate({ ...options, logprobs: request.logprobs ?? 0 }).result;
        return { kind: 'generate', request, options, solo };
      }
      case 'extend':
        return hasRoomFor(action.tokenIds) ? { kind: 'extend', tokenIds: action.tokenIds } : undefined;
      case 'forward':
        if (!hasRoomFor(action.tokenIds)) return undefined;
        return { kind: 'forward', tokenIds: action.tokenIds, solo: await session.forward(action.tokenIds) };
      case 'score':
        if (!hasRoomFor(action.tokenIds)) return undefined;
        return {
          kind: 'score',
          tokenIds: action.tokenIds,
          solo: await session.score(action.tokenIds, { topLogprobs: 3 }),
        };
      case 'embed':
        if (tokenIds.length > tinyContextLength) return undefined;
        return { ...action, solo: await plain.embed(tokenIds) };
      case 'truncate':
        return { kind: 'truncate', length: truncatedLength(tokenIds.length, action) };
      case 'prefill':
      case 'saveAndLoad':
        return { kind: action.kind };
      case 'fork':
        return { kind: 'fork', steps: await playAlone(plain, { prompt: tokenIds, actions: action.actions }) };
    }
  } finally {
    await session.dispose();
  }
}

/** Options of a request. A text or token that is to end it is taken from what it gives without. */
async function optionsAlone(plain: Model, tokenIds: readonly number[], request: Request): Promise<GenerateOptions> {
  const { end, sampling, maxTokens, priority, logprobs } = request;
  const options: GenerateOptions = {
    ...sampling,
    maxTokens,
    priority,
    logprobs,
    mask: masks[request.mask],
    ignoreEos: end.kind !== 'model',
  };
  if (end.kind !== 'stopText' && end.kind !== 'stopToken') return options;
  const session = plain.createSession({ tokenIds });
  const endless = await session.generate(options).result;
  await session.dispose();
  if (end.kind === 'stopToken') {
    const stopTokenIds = endless.tokenIds.slice(Math.floor(end.at * endless.tokenIds.length)).slice(0, 1);
    return { ...options, stopTokenIds };
  }
  const stop = endless.text.slice(Math.floor(end.at * endless.text.length)).slice(0, 2);
  return stop === '' ? options : { ...options, stop: ['never said', stop] };
}

const thirds = [0, 1, 2].map((rest) =>
  createTokenMask(
    tinyVocabSize,
    Array.from({ length: tinyVocabSize }, (_, id) => id).filter((id) => id % 3 !== rest),
  ),
);

/** What a grammar would do: what is allowed depends on what was said. */
const masks: Readonly<Record<Request['mask'], GenerateOptions['mask']>> = {
  none: undefined,
  thirds: (completion) => thirds[((completion.at(-1) ?? 0) + completion.length) % 3],
  sometimes: (completion) => (completion.length % 4 === 1 ? thirds[0] : undefined),
};

/** Positions of the cache that the largest of these steps needs when it is alone. */
export function mostPositions(prompt: readonly number[], steps: readonly Step[]): number {
  let length = prompt.length;
  let most = length;
  for (const step of steps) {
    const need = needOf(step, length);
    most = Math.max(most, need);
    if (step.kind === 'generate' && !step.request.cancel) length += step.solo.tokenIds.length;
    if (step.kind === 'truncate') length = step.length;
    if (step.kind === 'extend' || step.kind === 'forward' || step.kind === 'score') length += step.tokenIds.length;
    most = Math.max(most, length);
  }
  return most;
}

function needOf(step: Step, length: number): number {
  if (step.kind === 'fork')
    return mostPositions(
      Array.from({ length }, () => 0),
      step.steps,
    );
  if (step.kind !== 'generate') return length;
  const { maxTokens } = step.request;
  return Math.min(tinyContextLength, maxTokens === null ? tinyContextLength : length + maxTokens);
}
