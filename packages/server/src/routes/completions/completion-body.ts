import { z } from 'zod';
import { checkStreamOptions, generationFields } from '../../fields/generation-fields.ts';
import { refusedCompletionFields } from '../../fields/refused-fields.ts';
import { responseFormatField, structuredOutputsField } from '../../fields/response-format.ts';
import { flag, text, wholeFrom } from '../../fields/scalars.ts';
import { textsOrIdsField } from '../../fields/text-or-ids.ts';

/** As OpenAI has it. */
export const defaultMaxTokens = 16;

const fields = z.object({
  ...refusedCompletionFields,
  prompt: textsOrIdsField('What the text is to follow: one prompt, or a list of them, each answered for itself.'),
  ...generationFields,
  max_tokens: wholeFrom(
    0,
    Number.MAX_SAFE_INTEGER,
    `Most tokens to make. 0 makes none, null goes on to the end of the context. Default: ${defaultMaxTokens}.`,
  ),
  best_of: wholeFrom(
    1,
    1024,
    'Make so many texts and answer the n of them whose tokens are the most probable, by the mean of their log-probabilities. Default: n.',
  ),
  echo: flag(
    'Begin each text with its prompt; with logprobs, the tokens of the prompt are scored, too. Default: false.',
  ),
  suffix: text('What follows the text, which then fills the middle. For models that have tokens for it.', 2 ** 22),
  logprobs: wholeFrom(
    0,
    20,
    'Answer the log-probabilities of the tokens and of so many of the most probable ones in each place.',
  ),
  response_format: responseFormatField,
  structured_outputs: structuredOutputsField,
  add_special_tokens: flag('Begin a prompt of text with the start token where the model has one. Default: true.'),
  parse_special: flag(
    'Take control words in a prompt of text for control tokens. Default: true, but false with suffix.',
  ),
});

/** Body of POST /v1/completions. */
export const completionBody = fields
  .superRefine((body, context) => {
    checkStreamOptions(body, context);
    const refuse = (name: string, message: string) => context.addIssue({ code: 'custom', path: [name], message });
    const { n, best_of: bestOf, stream, echo, suffix } = body;
    if (bestOf && bestOf < (n ?? 1)) refuse('best_of', `must be at least n, which is ${n ?? 1}, but it is ${bestOf}`);
    if (bestOf && bestOf > (n ?? 1) && stream) {
      refuse('best_of', 'cannot be more than n with stream: which texts are the best is known when all have ended');
    }
    if (echo && suffix) refuse('echo', 'cannot be combined with suffix');
  })
  .meta({ id: 'CompletionRequest' });

export type CompletionFields = z.output<typeof completionBody>;
