import type { Generation } from '@hearth/engine';
import { generationOptions } from '../../fields/generation-fields.ts';
import { checkCount } from '../../generation/check-count.ts';
import { checkLogprobs } from '../../generation/check-logprobs.ts';
import { compileConstraint, planConstraint } from '../../generation/plan-constraint.ts';
import { startGenerations } from '../../generation/start-generations.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { ServedModel } from '../../models/served-model.ts';
import { type CompletionFields, defaultMaxTokens } from './completion-body.ts';
import { type PromptLogprob, promptText, scorePrompt } from './echo-prompt.ts';
import { type Prompt, readPrompts } from './read-prompts.ts';

/** What stands before a text that is to begin with its prompt. */
export interface Echo {
  readonly text: string;
  /** When log-probabilities are asked for. */
  readonly logprobs: readonly PromptLogprob[] | undefined;
}

/** A prompt with the texts that follow it. */
export interface StartedPrompt {
  readonly echo: Echo | undefined;
  readonly generations: readonly Generation[];
}

/**
 * Reads the prompts, scores those that are to be scored, and starts the texts. Whatever can be refused is refused here, before
 * anything is sent.
 *
 * @throws as `readPrompts`, `compileConstraint` and `startGenerations`
 */
export async function startCompletions(
  context: RequestContext,
  served: ServedModel,
  fields: CompletionFields,
): Promise<StartedPrompt[]> {
  const { signal, services } = context;
  const count = fields.best_of ?? fields.n ?? 1;
  checkCount(context, count, fields.best_of ? 'best_of' : 'n');
  const most = Math.floor(services.options.maxChoices / count);
  const { prompts, endTokenIds } = await readPrompts(served.model, fields, { most, signal });
  const options = generationOptions(fields);
  const plan = planConstraint(served, {
    format: fields.response_format,
    structured: fields.structured_outputs,
    generate: options,
  });
  const constraint = plan && (await compileConstraint(served, plan, signal));
  const isRanked = count > (fields.n ?? 1);
  const generate = {
    ...options,
    // Null is the rest of the context here, unlike elsewhere.
    maxTokens: fields.max_tokens === undefined ? defaultMaxTokens : fields.max_tokens,
    stopTokenIds: [...(options.stopTokenIds ?? []), ...endTokenIds],
    logprobs: fields.logprobs ?? (isRanked ? 0 : undefined),
  };
  if (!fields.stream) {
    const numScoredTokens = prompts.map(({ tokenIds }) => (fields.echo ? tokenIds.length : 0));
    checkLogprobs(served, { numScoredTokens, count, generate });
  }
  const cacheSalt = fields.cache_salt ?? undefined;
  const echo = async (prompt: Prompt): Promise<Echo | undefined> => {
    if (!fields.echo) return undefined;
    const numTop = fields.logprobs ?? undefined;
    const logprobs =
      numTop === undefined ? undefined : await scorePrompt(context, served.model, prompt, { numTop, cacheSalt });
    return { text: promptText(served.model, prompt), logprobs };
  };
  // Before the texts are started, so that these find their prompts computed.
  const echoes = await Promise.all(prompts.map(echo));
  return prompts.map(({ tokenIds }, index) => ({
    echo: echoes[index],
    generations: startGenerations(context, served, {
      promptTokenIds: tokenIds,
      count,
      generate,
      startConstraint: constraint && (() => constraint.start()),
      cacheSalt,
    }),
  }));
}
