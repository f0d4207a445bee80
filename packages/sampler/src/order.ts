import type { ResolvedSamplingParams } from './params/sampling-params.ts';
import { frequencyPresencePenalty } from './processors/frequency-presence-penalty.ts';
import { logitBias } from './processors/logit-bias.ts';
import { minP } from './processors/min-p.ts';
import type { CandidateProcessor, LogitProcessor, Processor } from './processors/processor.ts';
import { repetitionPenalty } from './processors/repetition-penalty.ts';
import { temperature } from './processors/temperature.ts';
import { tokenMask } from './processors/token-mask.ts';
import { topP } from './processors/top-p.ts';
import { typicalP } from './processors/typical-p.ts';

/** A built-in logit processor, or one of the caller's, whose output must be checked. */
export interface LogitStep {
  readonly processor: LogitProcessor;
  readonly isCustom: boolean;
}

export interface Pipeline {
  /** Change scores, on a copy of the row. */
  readonly logitSteps: readonly LogitStep[];
  /** Drop candidates, between ordering (with top-k) and draw. Greedy sampling never gets here. */
  readonly candidateProcessors: readonly CandidateProcessor[];
}

/**
 * The order of everything between logits and token, in one place:
 *
 *  1. logit bias
 *  2. repetition penalty
 *  3. frequency and presence penalty
 *  4. custom logit processors
 *  5. mask
 *     (temperature 0: the best token, and done)
 *  6. order, top-k
 *  7. temperature
 *  8. typical-p
 *  9. top-p
 * 10. min-p
 * 11. custom candidate processors
 *     draw
 *
 * Bias comes first because it is the caller's correction of the model; penalties then treat the corrected scores as the
 * model's. The mask comes after all that changes scores, so that nothing can lift what it bans, and before all that
 * counts tokens, so that a top-k of 40 means 40 allowed ones. Top-k needs the order only, which temperature does not
 * change; before it, it decides by the model's scores even where a huge temperature makes all of them equal. Typical-p
 * comes before top-p since it judges the shape of the distribution, which top-p would have cut; min-p is relative to the
 * best token left, so it comes last. Each filter sees what the ones before it have left, with probabilities that add up to 1.
 *
 * Steps that would do nothing are left out.
 */
export function buildPipeline(params: ResolvedSamplingParams, custom: readonly Processor[]): Pipeline {
  const logitSteps: LogitStep[] = [];
  const builtIn = (processor: LogitProcessor) => logitSteps.push({ processor, isCustom: false });
  if (params.logitBias.size > 0) builtIn(logitBias(params.logitBias));
  if (params.repetitionPenalty !== 1 && params.repetitionWindow !== 0) {
    builtIn(repetitionPenalty(params.repetitionPenalty, params.repetitionWindow));
  }
  if (params.frequencyPenalty !== 0 || params.presencePenalty !== 0) {
    builtIn(frequencyPresencePenalty(params.frequencyPenalty, params.presencePenalty));
  }
  for (const processor of custom) {
    if (processor.stage === 'logits') logitSteps.push({ processor, isCustom: true });
  }
  builtIn(tokenMask);

  const candidateProcessors: CandidateProcessor[] = [temperature(params.temperature)];
  if (params.typicalP < 1) candidateProcessors.push(typicalP(params.typicalP));
  if (params.topP < 1) candidateProcessors.push(topP(params.topP));
  if (params.minP > 0) candidateProcessors.push(minP(params.minP));
  for (const processor of custom) {
    if (processor.stage === 'candidates') candidateProcessors.push(processor);
  }
  return { logitSteps, candidateProcessors };
}
