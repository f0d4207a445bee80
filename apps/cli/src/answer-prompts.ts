import { countProgress } from '@hearth/command-line';
import { HearthError } from '@hearth/core';
import type { GenerateOptions, Model } from '@hearth/engine';
import { answerReport } from './answer-report.ts';
import { encodePrompt, type Prompt } from './encode-prompt.ts';
import { writeOutput } from './terminal/write-output.ts';

export interface AnswerPromptsOptions {
  /** Of each answer. */
  readonly generate: GenerateOptions;
  /** Continue prompts as text, without the chat template. */
  readonly raw: boolean;
  readonly signal: AbortSignal;
}

/** As many as run in one batch by default: more would only wait, with their deadlines running. */
const maxAtOnce = 32;

/**
 * Answers all prompts, many at once, and prints a line of JSON for each as it is done, in whatever order that is: `index`
 * counts the prompts from 0. One that fails has an `error` instead of an answer, and ends no other.
 *
 * @returns how many failed; those that the signal has ended are neither printed nor counted
 */
export async function answerPrompts(
  model: Model,
  prompts: readonly Prompt[],
  { generate, raw, signal }: AnswerPromptsOptions,
): Promise<number> {
  let numDone = 0;
  let numFailed = 0;
  const progress = countProgress('Answering', prompts.length === 1 ? 'prompt' : 'prompts');
  progress.update(0, prompts.length);
  const answer = async (prompt: Prompt, index: number): Promise<void> => {
    const tokenIds = await encodePrompt(model, prompt, { raw, signal });
    const session = model.createSession({ tokenIds });
    try {
      const result = await session.generate({ ...generate, signal }).result;
      await writeOutput(`${JSON.stringify({ index, ...answerReport(result) })}\n`);
    } finally {
      await session.dispose();
    }
  };
  const entries = prompts.entries();
  const work = async (): Promise<void> => {
    // One iterator for all: each takes the next prompt that nobody has taken.
    for (const [index, prompt] of entries) {
      if (signal.aborted) return;
      try {
        await answer(prompt, index);
      } catch (error) {
        if (signal.aborted) return;
        if (!HearthError.isInstance(error)) throw error;
        numFailed++;
        await writeOutput(`${JSON.stringify({ index, error: { code: error.code, message: error.message } })}\n`);
      }
      progress.update(++numDone, prompts.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.min(maxAtOnce, prompts.length) }, work));
  } finally {
    progress.stop();
  }
  return numFailed;
}
