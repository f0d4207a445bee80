import type { Model } from '@hearth/engine';
import { readTopLogprob, type TextLogprob } from '../../generation/text-logprobs.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Prompt } from './read-prompts.ts';

/** A token of a prompt. The first follows nothing and has no log-probability. */
export interface PromptLogprob extends Omit<TextLogprob, 'logprob'> {
  readonly logprob: number | null;
}

/** The prompt as people read it: what they sent, or the text of the ids, control words written out. */
export function promptText({ tokenizer }: Pick<Model, 'tokenizer'>, { input, tokenIds }: Prompt): string {
  return typeof input === 'string' ? input : tokenizer.decode(tokenIds);
}

export interface ScorePromptOptions {
  /** How many of the most probable tokens to name in each place. */
  readonly numTop: number;
  readonly cacheSalt: string | undefined;
}

/**
 * The log-probability of each token of a prompt, given those before it. A start token that was put before a text is one of
 * them, without any text.
 */
export async function scorePrompt(
  context: RequestContext,
  model: Model,
  prompt: Prompt,
  { numTop, cacheSalt = '' }: ScorePromptOptions,
): Promise<PromptLogprob[]> {
  const tokenIds = Array.from(prompt.tokenIds);
  const texts = tokenTexts(model, prompt, tokenIds);
  const rest = tokenIds.slice(1);
  const session = model.createSession({ tokenIds: tokenIds.slice(0, 1), cacheSalt });
  context.onEnd(() => void session.dispose());
  const { logprobs, topLogprobs } =
    rest.length > 0
      ? await session.score(rest, { topLogprobs: numTop, signal: context.signal })
      : { logprobs: [], topLogprobs: [] };
  // What it has computed stays in the cache, for the texts that follow.
  await session.dispose();
  return texts.map((text, index) => {
    const bytes = [...model.tokenizer.tokenBytes(tokenIds[index]!)];
    if (index === 0) return { text, bytes, logprob: null, top: [] };
    const top = topLogprobs![index - 1]!.map((entry) => readTopLogprob(model.tokenizer, entry));
    return { text, bytes, logprob: logprobs[index - 1]!, top };
  });
}

/** The part of each token in the text of the prompt. */
function tokenTexts({ tokenizer }: Model, { input }: Prompt, tokenIds: readonly number[]): string[] {
  const [first] = tokenIds;
  const isAdded =
    typeof input === 'string' && first === tokenizer.bosTokenId && !input.startsWith(tokenizer.decode([first!]));
  const detokenizer = tokenizer.createDetokenizer();
  const texts = tokenIds.map((id, index) => (isAdded && index === 0 ? '' : detokenizer.push(id)));
  texts[texts.length - 1] += detokenizer.flush();
  return texts;
}
