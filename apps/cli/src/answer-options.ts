import { parseNumber, UsageError } from '@hearth/command-line';
import type { GenerateOptions } from '@hearth/engine';
import type { Command } from 'commander';
import { addSamplingOptions, type SamplingFlags, samplingParams } from './sampling-options.ts';

/** The values of `addAnswerOptions`, as commander gives them, and the most tokens, which commands name themselves. */
export interface AnswerFlags extends SamplingFlags {
  maxTokens: number;
  /** Milliseconds. */
  timeout?: number;
}

/** What a timer can wait for. */
const mostTimeoutMs = 2 ** 31 - 1;

/** @param defaults of this command, where they differ from the sampler's */
export function addAnswerOptions(command: Command, defaults?: SamplingFlags): Command {
  command.option('--timeout <seconds>', 'fail an answer that takes longer, loading not included', parseTimeout);
  return addSamplingOptions(command, defaults);
}

/** How each answer is made. */
export function answerOptions(flags: AnswerFlags): GenerateOptions {
  return { ...samplingParams(flags), maxTokens: flags.maxTokens, timeoutMs: flags.timeout };
}

function parseTimeout(text: string): number {
  const milliseconds = 1000 * parseNumber(text, '--timeout');
  if (milliseconds > 0 && milliseconds <= mostTimeoutMs) return milliseconds;
  throw new UsageError(`--timeout takes seconds above 0, at most ${Math.floor(mostTimeoutMs / 1000)}, got "${text}".`);
}
