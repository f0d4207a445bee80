import type { GenerateOptions } from '@hearth/engine';
import { badRequest } from '../http/api-error.ts';
import type { ServedModel } from '../models/served-model.ts';

/** Log-probabilities that one whole answer may hold: some 11 MB of JSON, which take the main thread a tenth of a second. */
const mostEntries = 200_000;

export interface AskedLogprobs {
  /** Tokens of each prompt that are scored, too; 0 where they are not. */
  readonly numScoredTokens: readonly number[];
  /** Texts that follow each prompt. */
  readonly count: number;
  readonly generate: Pick<GenerateOptions, 'logprobs' | 'maxTokens'>;
}

/**
 * Bounds an answer that is sent when it is whole. Streams need no bound, as nothing of them is kept.
 * @throws ApiError 400 when it could hold more log-probabilities than is allowed
 */
export function checkLogprobs({ model }: ServedModel, { numScoredTokens, count, generate }: AskedLogprobs): void {
  const { logprobs: numTop, maxTokens } = generate;
  if (numTop === undefined) return;
  const { contextLength } = model.info;
  const numMade = numScoredTokens.length * count * Math.min(maxTokens ?? contextLength, contextLength);
  const numEntries = (numMade + numScoredTokens.reduce((sum, num) => sum + num, 0)) * (1 + numTop);
  if (numEntries <= mostEntries) return;
  throw badRequest(
    'logprobs',
    `logprobs: the answer could hold ${numEntries} log-probabilities, but at most ${mostEntries} may come at once. Lower the number of texts, tokens or alternatives, or stream.`,
  );
}
