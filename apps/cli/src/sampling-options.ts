import { parseNumber, UsageError } from '@hearth/command-line';
import type { SamplingParams } from '@hearth/sampler';
import { type Command, Option } from 'commander';

/** The values of `addSamplingOptions`, as commander gives them. */
export interface SamplingFlags {
  temperature?: number;
  topK?: number;
  topP?: number;
  minP?: number;
  typicalP?: number;
  repetitionPenalty?: number;
  repetitionWindow?: number;
  frequencyPenalty?: number;
  presencePenalty?: number;
  logitBias?: Record<string, number>;
  seed?: bigint;
}

/**
 * Ranges are checked by the sampler, which knows them; here text only becomes numbers.
 * @param defaults of this command, where they differ from the sampler's
 */
export function addSamplingOptions(command: Command, defaults: SamplingFlags = {}): Command {
  command
    .addOption(number('--temperature <t>', 'randomness; 0 always takes the best token').default(0))
    .addOption(number('--top-k <k>', 'keep the k best tokens'))
    .addOption(number('--top-p <p>', 'keep the best tokens that make up this probability'))
    .addOption(number('--min-p <p>', 'drop tokens below this share of the best one'))
    .addOption(number('--typical-p <p>', 'keep the most typical tokens that make up this probability'))
    .addOption(number('--repetition-penalty <r>', 'above 1 discourages tokens that were there before'))
    .addOption(number('--repetition-window <n>', 'how many last tokens that penalty looks at'))
    .addOption(number('--frequency-penalty <f>', 'discourage tokens by how often they came'))
    .addOption(number('--presence-penalty <p>', 'discourage tokens that came'))
    .option('--logit-bias <id=value>', 'add to the score of a token id; may be repeated', collectBias)
    .option('--seed <n>', '64-bit seed of the draws', parseSeed);
  for (const [name, value] of Object.entries(defaults)) {
    command.options.find((option) => option.attributeName() === name)!.default(value);
    command.setOptionValueWithSource(name, value, 'default');
  }
  return command;
}

/** The sampling parameters among the flags; absent ones are left out, so that the sampler's defaults hold. */
export function samplingParams(flags: SamplingFlags): SamplingParams {
  const { temperature, topK, topP, minP, typicalP, repetitionPenalty, repetitionWindow } = flags;
  const { frequencyPenalty, presencePenalty, logitBias, seed } = flags;
  const all = { temperature, topK, topP, minP, typicalP, repetitionPenalty, repetitionWindow };
  return { ...all, frequencyPenalty, presencePenalty, logitBias, seed };
}

function number(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text) => parseNumber(text, flags));
}

function parseSeed(text: string): bigint {
  if (!/^-?\d+$/.test(text)) throw new UsageError(`--seed takes a whole number, got "${text}".`);
  return BigInt(text);
}

function collectBias(text: string, collected: Record<string, number> = Object.create(null)): Record<string, number> {
  const match = /^(\d+)=(.+)$/.exec(text);
  if (!match) throw new UsageError(`--logit-bias takes ID=VALUE such as 42=-100, got "${text}".`);
  collected[match[1]!] = parseNumber(match[2]!, '--logit-bias');
  return collected;
}
