import { closeWithDraft, loadWithDraft, openWithDraft } from '@hearth/command-line';
import { HearthError } from '@hearth/core';
import { resolveSamplingParams } from '@hearth/sampler';
import { answerOptions } from '../answer-options.ts';
import { answerPrompts } from '../answer-prompts.ts';
import { warnOfNoTemplate } from '../encode-prompt.ts';
import { readPrompts } from '../prompts-file.ts';
import { samplingParams } from '../sampling-options.ts';
import type { GenerateFlags } from './generate.ts';

/** Some prompts have no answer; their lines say why. */
class PromptsFailedError extends HearthError {
  constructor(numFailed: number, numPrompts: number) {
    super('prompts_failed', `${numFailed} of ${numPrompts} prompts failed; their lines say why.`);
  }
}

/**
 * Runs `hearth generate --prompts`.
 * @throws PromptsFailedError when all have ended and some have failed
 */
export async function generateMany(path: string, flags: GenerateFlags, signal: AbortSignal): Promise<void> {
  const prompts = (await readPrompts(path)).map(({ prompt, system = flags.system }) => ({ prompt, system }));
  const opened = await openWithDraft(flags, { signal });
  try {
    const { logprobs, stop, raw = false } = flags;
    // What cannot work is refused here, before the weights are loaded.
    resolveSamplingParams({ ...samplingParams(flags), logprobs }, opened.prepared.info.vocabSize);
    warnOfNoTemplate(opened.prepared, raw);
    const loaded = await loadWithDraft(opened, flags, signal);
    try {
      const generate = { ...answerOptions(flags), logprobs, stop };
      const numFailed = await answerPrompts(loaded.model, prompts, { generate, raw, signal });
      signal.throwIfAborted();
      if (numFailed > 0) throw new PromptsFailedError(numFailed, prompts.length);
    } finally {
      await loaded.dispose();
    }
  } finally {
    await closeWithDraft(opened);
  }
}
