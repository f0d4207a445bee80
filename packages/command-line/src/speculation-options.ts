import { type DraftModel, draftModel, promptLookup, type SpeculationOptions } from '@hearth/llm';
import type { Command } from 'commander';
import { parseWhole } from './parse-number.ts';
import { UsageError } from './usage-error.ts';

/** The values of `addSpeculationOptions`, as commander gives them. */
export interface SpeculationFlags {
  speculate?: boolean | undefined;
  speculateTokens?: number | undefined;
  draftModel?: string | undefined;
}

/** Flags that have tokens guessed ahead. None of them changes an answer. */
export function addSpeculationOptions(command: Command): Command {
  return command
    .option('--speculate', 'guess tokens ahead from the text itself: the same answer, sooner where it repeats')
    .option('--draft-model <model>', 'guess them with a smaller model of the same vocabulary')
    .option('--speculate-tokens <n>', 'most guesses in a step', (text) => parseWhole(text, '--speculate-tokens', 1));
}

/** @throws UsageError for a number of guesses where nobody guesses */
export function checkSpeculationFlags({ speculate, speculateTokens, draftModel }: SpeculationFlags): void {
  if (speculateTokens === undefined || speculate || draftModel !== undefined) return;
  throw new UsageError('--speculate-tokens needs --speculate or --draft-model.');
}

/** The lookup is asked first: its guesses cost nothing. Undefined where nobody guesses. */
export function speculationOptions(
  { speculate, speculateTokens }: SpeculationFlags,
  draft: DraftModel | undefined,
): SpeculationOptions | undefined {
  const proposers = [...(speculate ? [promptLookup()] : []), ...(draft ? [draftModel(draft)] : [])];
  return proposers.length === 0 ? undefined : { proposers, maxTokens: speculateTokens };
}
