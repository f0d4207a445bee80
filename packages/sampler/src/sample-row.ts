import { noTokenAllowed, type SampleRow } from '@hearth/core';
import { NoTokenAllowedError } from './no-token-allowed-error.ts';
import { createSampler } from './sampler.ts';

/**
 * The token that a backend which samples within its steps gives for the row: -2 where the mask allows none.
 *
 * @param logits [vocabSize], as the model gave them; never changed
 * @throws NumericError when a logit is NaN or infinite
 * @throws InvalidArgumentError when a field of the row is out of its range, or an id outside the vocabulary
 */
export function sampleFromRow(logits: Float32Array, row: SampleRow): number {
  const { promptTokenIds, completionTokenIds, mask } = row;
  const { temperature, topK, topP, minP, typicalP, seed, choiceIndex, logitBias } = row;
  const { repetitionPenalty, repetitionWindow, frequencyPenalty, presencePenalty } = row;
  const filters = { temperature, topK, topP, minP, typicalP, seed, choiceIndex };
  const scores = { logitBias, repetitionPenalty, repetitionWindow, frequencyPenalty, presencePenalty };
  const sampler = createSampler({ ...filters, ...scores }, { vocabSize: logits.length });
  try {
    return sampler.sample(logits, { promptTokenIds, completionTokenIds }, { mask }).tokenId;
  } catch (error) {
    if (error instanceof NoTokenAllowedError) return noTokenAllowed;
    throw error;
  }
}
