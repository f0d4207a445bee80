import { z } from 'zod';

interface RefusedField {
  /** Values that ask for what happens anyway. */
  readonly neutral?: readonly unknown[];
  /** What to do about it. Default: leave it out. */
  readonly advice?: string;
}

const structuredOutputs = { advice: 'use structured_outputs' };
const leaveOut = 'leave it out';

/** Known fields of this and other servers that would change the text, and that there is nothing for here. */
const samplingTable: Readonly<Record<string, RefusedField>> = {
  guided_json: structuredOutputs,
  guided_regex: structuredOutputs,
  guided_choice: structuredOutputs,
  guided_grammar: structuredOutputs,
  grammar: structuredOutputs,
  json_schema: structuredOutputs,
  repeat_penalty: { neutral: [1], advice: 'use repetition_penalty' },
  n_predict: { advice: 'use max_tokens' },
  min_tokens: { neutral: [0] },
  use_beam_search: { neutral: [false] },
  length_penalty: { neutral: [1] },
  mirostat: { neutral: [0] },
  dry_multiplier: { neutral: [0] },
  xtc_probability: { neutral: [0] },
  dynatemp_range: { neutral: [0] },
  tfs_z: { neutral: [1] },
  top_a: { neutral: [0] },
  allowed_token_ids: {},
  bad_words: { neutral: [[]], advice: 'use logit_bias' },
  logits_processors: { neutral: [[]] },
  include_stop_str_in_output: { neutral: [false] },
  skip_special_tokens: { neutral: [true] },
  truncate_prompt_tokens: {},
  prompt_logprobs: { neutral: [0] },
};

const chatTable: Readonly<Record<string, RefusedField>> = {
  audio: {},
  modalities: { neutral: [['text']] },
  functions: { neutral: [[]], advice: 'use tools' },
  function_call: { neutral: ['none', 'auto'], advice: 'use tool_choice' },
  web_search_options: {},
  verbosity: { neutral: ['medium'] },
  documents: { neutral: [[]], advice: 'put them into a message' },
  chat_template: {},
  echo: { neutral: [false] },
  best_of: { neutral: [1] },
  suffix: { neutral: [''] },
};

/** Null and absent are always neutral. */
function refusedField({ neutral = [], advice = leaveOut }: RefusedField) {
  const allowed = new Set(neutral.map((value) => JSON.stringify(value)));
  const only = neutral.length === 0 ? '' : `, unless it is ${[...allowed].join(' or ')}`;
  return z
    .unknown()
    .superRefine((value, context) => {
      if (value === undefined || value === null || allowed.has(stringify(value))) return;
      context.addIssue({ code: 'custom', message: `is not supported${only}; ${advice}` });
    })
    .optional()
    .meta({ description: `Not supported${only}; ${advice}.`, override: { enum: [null, ...neutral] } });
}

function stringify(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member));
}

function refusedFields(table: Readonly<Record<string, RefusedField>>) {
  return Object.fromEntries(Object.entries(table).map(([name, field]) => [name, refusedField(field)]));
}

/** Of requests for generated text: each is a 400 that names it, unless its value asks for what happens anyway. */
export const refusedSamplingFields = refusedFields(samplingTable);

/** The same for chats. */
export const refusedChatFields = refusedFields({ ...samplingTable, ...chatTable });

/** For the fields of a route of its own. Values are `neutral` by name. */
export function refuseUnless(neutral: Readonly<Record<string, readonly unknown[]>>) {
  return refusedFields(
    Object.fromEntries(Object.entries(neutral).map(([name, values]) => [name, { neutral: values }])),
  );
}
