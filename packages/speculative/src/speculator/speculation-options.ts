import { integerOption, invalidOption } from '../check-option.ts';
import { type GateOptions, type ResolvedGateOptions, resolveGateOptions } from '../gate/acceptance-gate.ts';
import type { Proposer, TargetModel } from '../proposer.ts';

export interface SpeculationOptions {
  /** Asked in order: the first one that has guesses is taken. */
  readonly proposers: readonly Proposer[];
  /**
   * Most guesses in one step, from 1. Default: 8. A proposer starts with one, doubles while all of them stand, and halves
   * when not; docs/speculation.md says why.
   */
  readonly maxTokens?: number | undefined;
  /** When a proposer with poor guesses pauses. The same for all of them, each by its own guesses. */
  readonly gate?: GateOptions | undefined;
}

export interface ResolvedSpeculationOptions {
  readonly proposers: readonly Proposer[];
  readonly maxTokens: number;
  readonly gate: ResolvedGateOptions;
}

const optionNames: readonly (keyof SpeculationOptions)[] = ['proposers', 'maxTokens', 'gate'];

/**
 * Checks the options and fills in the defaults, and asks every proposer whether it can guess for the model. For whoever
 * takes such options and wants to refuse them early; a `Speculator` does it as well.
 *
 * @param target the model that is guessed for; without it, its vocabulary is not checked
 * @throws InvalidArgumentError that names the option
 * @throws VocabularyMismatchError for a draft model with another vocabulary
 */
export function resolveSpeculation(options: SpeculationOptions, target?: TargetModel): ResolvedSpeculationOptions {
  if (typeof options !== 'object' || options === null) throw invalidOption('speculation', 'an object', options);
  for (const name of Object.keys(options)) {
    if (!(optionNames as readonly string[]).includes(name)) {
      throw invalidOption('speculation', `an object with ${optionNames.join(', ')}`, `one with ${name}`);
    }
  }
  const { proposers } = options;
  if (!Array.isArray(proposers)) throw invalidOption('speculation.proposers', 'an array of proposers', proposers);
  for (const proposer of proposers as readonly Partial<Proposer>[]) {
    if (typeof proposer?.start !== 'function' || typeof proposer.name !== 'string') {
      throw invalidOption('speculation.proposers', 'proposers, such as promptLookup(),', proposer);
    }
  }
  if (target) for (const proposer of proposers) proposer.checkTarget?.(target);
  return {
    proposers,
    maxTokens: integerOption('speculation.maxTokens', options.maxTokens, { least: 1, most: 1024, fallback: 8 }),
    gate: resolveGateOptions(options.gate),
  };
}
