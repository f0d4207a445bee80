import type { GenerateOptions, Generation, Session, TokenConstraint } from '@hearth/engine';
import type { RequestContext } from '../http/request-context.ts';
import type { ServedModel } from '../models/served-model.ts';
import { checkLogitBias } from './check-logit-bias.ts';

export interface StartGenerationsOptions {
  readonly promptTokenIds: ArrayLike<number>;
  /** How many texts are to follow the prompt. Each has draws of its own, of the same seed. */
  readonly count: number;
  readonly generate: GenerateOptions;
  /** Makes the constraint of one text. It is disposed of at the end of the request. */
  readonly startConstraint?: (() => TokenConstraint & { dispose(): void }) | undefined;
  readonly cacheSalt?: string | undefined;
  /** One of the prompt that has some of it in the cache. It is used up. */
  readonly prefilled?: Session | undefined;
}

/**
 * Starts texts that follow one prompt, side by side. Whatever ends the request ends them, and frees what they hold.
 * @throws ApiError 400 for biases of tokens that there are not
 * @throws what `Session.generate` refuses at once; nothing goes on then once the request has ended
 */
export function startGenerations(
  context: RequestContext,
  { model }: ServedModel,
  { promptTokenIds, count, generate, startConstraint, cacheSalt = '', prefilled }: StartGenerationsOptions,
): Generation[] {
  context.onEnd(() => void prefilled?.dispose());
  checkLogitBias(generate, model.info.vocabSize);
  const watch = context.watchPrompt(promptTokenIds.length);
  const generations = Array.from({ length: count }, (_, choiceIndex) => {
    const session = prefilled?.fork() ?? model.createSession({ tokenIds: promptTokenIds, cacheSalt });
    context.onEnd(() => void session.dispose());
    const constraint = startConstraint?.();
    context.onEnd(() => constraint?.dispose());
    const generation = session.generate({
      ...generate,
      ...(constraint && { constraint }),
      choiceIndex,
      signal: context.signal,
      timeoutMs: context.services.options.requestTimeoutMs,
    });
    // The blocks of a text that is done are of use to others, however long its reader takes.
    const free = () => void session.dispose();
    generation.result.then(free, free);
    return watch.watch(generation);
  });
  void prefilled?.dispose();
  return generations;
}
