import type { Constraint } from '@hearth/constraints';
import type { TokenConstraint } from '@hearth/engine';
import { badRequest } from '../http/api-error.ts';
import type { ServedModel } from '../models/served-model.ts';
import { AfterReasoning } from './after-reasoning.ts';
import type { ChatPrompt } from './chat-prompt.ts';
import { ReasoningBudget } from './reasoning-budget.ts';
import { reasoningTokensOf } from './reasoning-tokens.ts';

export interface ConstraintParts {
  /** What the answer has to obey. */
  readonly constraint: Constraint | undefined;
  /** Most tokens of thoughts. */
  readonly reasoningBudget: number | undefined;
}

/**
 * What makes the constraint of each text of a chat: thoughts are free up to their budget, and the answer after them obeys.
 * Undefined when nothing is asked for.
 *
 * @throws ApiError 400 for a budget that cannot be held
 */
export async function constraintStarter(
  { model }: ServedModel,
  { reasoning: block }: ChatPrompt,
  { constraint, reasoningBudget }: ConstraintParts,
): Promise<(() => TokenConstraint & { dispose(): void }) | undefined> {
  const { vocabSize } = model.info;
  if (block === undefined) return constraint && (() => constraint.start());
  if (!constraint && reasoningBudget === undefined) return undefined;
  const tokens = await reasoningTokensOf(model);
  if (block === 'closed' && tokens.beginId === undefined && reasoningBudget !== undefined) {
    throw badRequest('reasoning_budget', 'reasoning_budget: thoughts of this model have no token that begins them.');
  }
  return () => {
    const answer = constraint?.start();
    const after = answer && new AfterReasoning({ answer, block, tokens, vocabSize });
    const whole =
      reasoningBudget === undefined
        ? after!
        : new ReasoningBudget({ budget: reasoningBudget, block, tokens, vocabSize, inner: after });
    return {
      nextMasks: (completionTokenIds, guesses) => whole.nextMasks(completionTokenIds, guesses),
      dispose: () => answer?.dispose(),
    };
  };
}
