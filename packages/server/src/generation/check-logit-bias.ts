import type { GenerateOptions } from '@hearth/engine';
import { badRequest } from '../http/api-error.ts';

const mostNamed = 8;

/** @throws ApiError 400 naming the ids that the vocabulary has not: all of them, where the engine would name the first */
export function checkLogitBias({ logitBias }: Pick<GenerateOptions, 'logitBias'>, vocabSize: number): void {
  const unknown = Object.keys(logitBias ?? {}).filter((id) => Number(id) >= vocabSize);
  if (unknown.length === 0) return;
  const names = unknown.slice(0, mostNamed).join(', ') + (unknown.length > mostNamed ? ' and more' : '');
  throw badRequest(
    'logit_bias',
    `logit_bias: the token ids of this model are 0 to ${vocabSize - 1}, so there are no ${names}.`,
    'invalid_token_id',
  );
}
