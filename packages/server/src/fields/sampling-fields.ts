import type { GenerateOptions } from '@hearth/engine';
import { z } from 'zod';
import { numberFrom, wholeFrom } from './scalars.ts';

/** Every higher one does the same, that is to make all tokens equally likely; the largest float32 is some 3e38. */
const mostTemperature = 1e38;
const mostStops = 16;
const mostStopLength = 1000;

const stopText = z
  .string({ error: 'must be a string' })
  .max(mostStopLength, { error: `must have at most ${mostStopLength} characters` });

/** A seed of 64 bits. Most of those from 2^53 on are bigints by now, and integers without loss. */
const seed = z
  .custom<number | bigint>((value) => wholeNumber(value) !== undefined, {
    error: 'must be a whole number of 64 bits, from -2^63 to 2^63 - 1',
  })
  .meta({
    description: 'Start of the draws: the same seed gives the same text. Drawn at random when absent.',
    // The bounds of the format are no numbers that JavaScript could write.
    override: { type: 'integer', format: 'int64' },
  });

/** A whole number of 64 bits. A number from 2^53 on that comes as such was written in the digits that JavaScript writes it in. */
function wholeNumber(value: unknown): bigint | undefined {
  if (typeof value !== 'bigint' && !(Number.isInteger(value) && Math.abs(value as number) < 1e21)) return undefined;
  const whole = BigInt(String(value));
  return BigInt.asIntN(64, whole) === whole ? whole : undefined;
}

/**
 * One check for all of it, as a client wants to hear of all its wrong entries at once. A record would leave out `__proto__`,
 * which is as wrong a key as any.
 */
const logitBias = z
  .custom<Record<string, number>>((value) => problemOfBiases(value) === undefined, {
    error: ({ input }) => problemOfBiases(input),
  })
  .meta({
    description: 'Added to the logits of tokens, by id: -100 all but bans a token, 100 all but forces it.',
    override: { type: 'object', additionalProperties: { type: 'number', minimum: -100, maximum: 100 } },
  });

function problemOfBiases(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return 'must be an object of token ids and numbers';
  }
  const wrong = Object.entries<unknown>(value as Record<string, unknown>).filter(
    ([id, bias]) => !(/^\d{1,10}$/.test(id) && typeof bias === 'number' && bias >= -100 && bias <= 100),
  );
  if (wrong.length === 0) return undefined;
  const names = wrong.slice(0, 8).map(([id]) => JSON.stringify(id.slice(0, 40)));
  return `must map token ids to numbers from -100 to 100; wrong: ${names.join(', ')}${wrong.length > 8 ? ' and more' : ''}`;
}

/** How tokens are chosen and where a text ends: the same for chats and completions. */
export const samplingFields = {
  temperature: numberFrom(0, Number.MAX_VALUE, 'Divides the logits; 0 takes the best token. Default: 1.'),
  top_p: numberFrom(0, 1, 'Keep the fewest best tokens whose probabilities reach this. Default: 1, all.'),
  top_k: wholeFrom(-1, Number.MAX_SAFE_INTEGER, 'Keep this many best tokens. 0 and -1: all. Default: 0.'),
  min_p: numberFrom(0, 1, 'Drop tokens less probable than this times the best one. Default: 0, none.'),
  typical_p: numberFrom(0, 1, 'Keep the tokens of most typical information content. Default: 1, all.'),
  presence_penalty: numberFrom(-2, 2, 'Subtracted from the logits of tokens that are in the text. Default: 0.'),
  frequency_penalty: numberFrom(-2, 2, 'The same for each time that a token is in the text. Default: 0.'),
  repetition_penalty: numberFrom(
    Number.MIN_VALUE,
    1e6,
    'Divides positive logits of tokens in prompt and text, and multiplies others. Default: 1.',
  ),
  logit_bias: logitBias.nullish(),
  seed: seed.nullish(),
  stop: z
    .union([stopText, z.array(stopText).max(mostStops)], {
      error: `must be a string, or a list of at most ${mostStops} strings, of at most ${mostStopLength} characters each`,
    })
    .meta({ description: 'Texts that end the answer; they are not part of it. Empty ones are ignored.' })
    .nullish(),
  priority: numberFrom(-1e9, 1e9, 'Requests of higher priority start first. Default: 0.'),
};

const samplingSchema = z.object(samplingFields);

/** The engine's options for these fields. */
export function samplingOptions(fields: z.output<typeof samplingSchema>): GenerateOptions {
  const { stop, temperature } = fields;
  return {
    temperature: typeof temperature === 'number' ? Math.min(temperature, mostTemperature) : undefined,
    topP: fields.top_p ?? undefined,
    topK: fields.top_k ?? undefined,
    minP: fields.min_p ?? undefined,
    typicalP: fields.typical_p ?? undefined,
    presencePenalty: fields.presence_penalty ?? undefined,
    frequencyPenalty: fields.frequency_penalty ?? undefined,
    repetitionPenalty: fields.repetition_penalty ?? undefined,
    logitBias: fields.logit_bias ?? undefined,
    seed: wholeNumber(fields.seed),
    stop: [stop ?? []].flat().filter((text) => text !== ''),
    priority: fields.priority ?? undefined,
  };
}
