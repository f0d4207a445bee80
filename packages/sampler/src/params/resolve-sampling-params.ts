import { InvalidArgumentError } from '@hearth/core';
import { describeValue, integerInRange, invalidField, numberInRange } from './check.ts';
import { resolveLogitBias } from './logit-bias.ts';
import type { ResolvedSamplingParams, SamplingParams } from './sampling-params.ts';
import { resolveSeed } from './seed.ts';

const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;
const SMALLEST_NORMAL_FLOAT = 2 ** -126;
/** Most alternatives that OpenAI's API reports per token. */
const MAX_LOGPROBS = 20;
/** Token ids are int32 everywhere in Hearth. */
const MAX_VOCAB_SIZE = 2 ** 31 - 1;
/** The choice is one 32-bit word of the generator's counter. */
const MAX_CHOICE_INDEX = 2 ** 32 - 1;

const fieldNames: readonly (keyof SamplingParams)[] = [
  'temperature',
  'topK',
  'topP',
  'minP',
  'typicalP',
  'repetitionPenalty',
  'repetitionWindow',
  'frequencyPenalty',
  'presencePenalty',
  'logitBias',
  'seed',
  'choiceIndex',
  'logprobs',
];

/**
 * Checks every field and fills in the defaults. Nothing is clamped and nothing is ignored: a caller learns of a wrong or
 * misspelt field here, before any work is done.
 *
 * @param vocabSize length of the logits rows; bounds the token ids of `logitBias`
 * @throws InvalidArgumentError whose `details` hold the field, what was expected and what was received
 */
export function resolveSamplingParams(params: SamplingParams, vocabSize: number): ResolvedSamplingParams {
  if (!Number.isInteger(vocabSize) || vocabSize < 1 || vocabSize > MAX_VOCAB_SIZE) {
    throw invalidField('vocabSize', `an integer from 1 to ${MAX_VOCAB_SIZE}`, vocabSize);
  }
  checkFieldNames(params);
  const unit = { least: 0, most: 1 };
  const penalty = { least: -2, most: 2, fallback: 0 };
  return {
    temperature: numberInRange('temperature', params.temperature, { least: 0, most: Number.MAX_VALUE, fallback: 1 }),
    topK: Math.max(0, integerInRange('topK', params.topK, { least: -1, most: Number.MAX_SAFE_INTEGER, fallback: 0 })),
    topP: numberInRange('topP', params.topP, { ...unit, fallback: 1 }),
    minP: numberInRange('minP', params.minP, { ...unit, fallback: 0 }),
    typicalP: numberInRange('typicalP', params.typicalP, { ...unit, fallback: 1 }),
    repetitionPenalty: resolveRepetitionPenalty(params.repetitionPenalty),
    repetitionWindow: integerInRange('repetitionWindow', params.repetitionWindow, {
      least: -1,
      most: Number.MAX_SAFE_INTEGER,
      fallback: -1,
    }),
    frequencyPenalty: numberInRange('frequencyPenalty', params.frequencyPenalty, penalty),
    presencePenalty: numberInRange('presencePenalty', params.presencePenalty, penalty),
    logitBias: resolveLogitBias(params.logitBias, vocabSize),
    seed: resolveSeed(params.seed),
    choiceIndex: integerInRange('choiceIndex', params.choiceIndex, { least: 0, most: MAX_CHOICE_INDEX, fallback: 0 }),
    logprobs: integerInRange('logprobs', params.logprobs, { least: 0, most: MAX_LOGPROBS, fallback: undefined }),
  };
}

/** A divisor in f32 arithmetic: it must neither round to 0 nor to infinity there. */
function resolveRepetitionPenalty(value: unknown): number {
  const isUsable =
    value === undefined || (typeof value === 'number' && value >= SMALLEST_NORMAL_FLOAT && value <= LARGEST_FLOAT);
  if (!isUsable) throw invalidField('repetitionPenalty', 'a positive number that f32 can hold', value);
  return value ?? 1;
}

function checkFieldNames(params: unknown): void {
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw invalidField('params', 'an object', params);
  }
  const unknownNames = Object.keys(params).filter((name) => !(fieldNames as readonly string[]).includes(name));
  if (unknownNames.length === 0) return;
  const shown = unknownNames.slice(0, 5).map(describeValue).join(', ');
  throw new InvalidArgumentError(
    `params must only have the fields ${fieldNames.join(', ')}, but got ${shown}${unknownNames.length > 5 ? ', …' : ''}.`,
    { details: { field: unknownNames[0], expected: fieldNames, received: unknownNames } },
  );
}
