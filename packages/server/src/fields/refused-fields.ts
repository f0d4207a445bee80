import { z } from 'zod';

interface RefusedField {
  /** Values that ask for what happens anyway. */
  readonly neutral?: readonly unknown[];
  /** What to do about it. Default: leave it out. */
  readonly advice?: string;
}

const inMessages = { advice: 'put it into messages' };
const structuredOutputs = { advice: 'use structured_outputs' };
const maxTokens = { advice: 'use max_tokens' };
const reasoningBudget = { advice: 'use reasoning_budget' };
const leaveOut = 'leave it out';

/**
 * Known fields of this and other servers (OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI) that would change the answer, and that
 * there is nothing for here.
 */
const samplingTable: Readonly<Record<string, RefusedField>> = {
  // What the text has to be
  guided_json: structuredOutputs,
  guided_regex: structuredOutputs,
  guided_choice: structuredOutputs,
  guided_grammar: structuredOutputs,
  guided_whitespace_pattern: structuredOutputs,
  structural_tag: structuredOutputs,
  grammar: structuredOutputs,
  json_schema: structuredOutputs,
  regex: structuredOutputs,
  ebnf: structuredOutputs,
  format: { advice: 'use response_format' },
  // Where it ends
  n_predict: { neutral: [-1], ...maxTokens },
  max_new_tokens: maxTokens,
  min_tokens: { neutral: [0] },
  min_new_tokens: { neutral: [0] },
  n_indent: { neutral: [0] },
  t_max_predict_ms: { neutral: [0, -1] },
  stop_sequences: { neutral: [[]], advice: 'use stop' },
  stop_regex: { neutral: [[]], advice: 'use stop' },
  include_stop_str_in_output: { neutral: [false] },
  no_stop_trim: { neutral: [false] },
  // How tokens are chosen
  do_sample: { neutral: [true], advice: 'use temperature, of which 0 takes the best token' },
  repeat_penalty: { neutral: [1], advice: 'use repetition_penalty' },
  repeat_last_n: { neutral: [-1] },
  no_repeat_ngram_size: { neutral: [0] },
  use_beam_search: { neutral: [false] },
  num_beams: { neutral: [1] },
  length_penalty: { neutral: [1] },
  mirostat: { neutral: [0] },
  mirostat_mode: { neutral: [0] },
  dry_multiplier: { neutral: [0] },
  xtc_probability: { neutral: [0] },
  dynatemp_range: { neutral: [0] },
  smoothing_factor: { neutral: [0] },
  epsilon_cutoff: { neutral: [0] },
  eta_cutoff: { neutral: [0] },
  tfs_z: { neutral: [1] },
  top_a: { neutral: [0] },
  top_n_sigma: { neutral: [-1, 0] },
  min_keep: { neutral: [0, 1] },
  samplers: {},
  watermark: { neutral: [false] },
  allowed_token_ids: {},
  bad_words: { neutral: [[]], advice: 'use logit_bias' },
  logits_processors: { neutral: [[]] },
  custom_logit_processor: {},
  lora: { neutral: [[]] },
  lora_path: {},
  // What goes in and comes out
  options: { advice: 'give its members as fields' },
  prompt_embeds: {},
  truncate: {},
  truncate_prompt_tokens: {},
  skip_special_tokens: { neutral: [true] },
  detokenize: { neutral: [true] },
  return_tokens_as_token_ids: { neutral: [false] },
  return_token_ids: { neutral: [false] },
  prompt_logprobs: {},
  n_probs: { neutral: [0], advice: 'use logprobs' },
};

/** Those of conversations. */
const conversationTable: Readonly<Record<string, RefusedField>> = {
  audio: {},
  modalities: { neutral: [['text']] },
  functions: { neutral: [[]], advice: 'use tools' },
  function_call: { neutral: ['none', 'auto'], advice: 'use tool_choice' },
  parse_tool_calls: { neutral: [true] },
  web_search_options: {},
  documents: { neutral: [[]], advice: 'put them into a message' },
  chat_template: {},
  add_special_tokens: { neutral: [false] },
  echo: { neutral: [false] },
  best_of: { neutral: [1] },
  suffix: { neutral: [''] },
  think: { advice: 'say how much to reason' },
  thinking: { advice: 'say how much to reason' },
  enable_thinking: { advice: 'put it into chat_template_kwargs' },
  thinking_budget: reasoningBudget,
  thinking_budget_tokens: reasoningBudget,
  thinking_token_budget: reasoningBudget,
  reasoning_format: { neutral: ['auto', 'deepseek'] },
  include_reasoning: { neutral: [true] },
  separate_reasoning: { neutral: [true] },
};

const chatTable: Readonly<Record<string, RefusedField>> = {
  prompt: inMessages,
  input: inMessages,
  instructions: inMessages,
  system: inMessages,
  max_output_tokens: maxTokens,
  reasoning: { advice: 'use reasoning_effort' },
  text: { advice: 'use response_format' },
  verbosity: { neutral: ['medium'] },
};

const responsesTable: Readonly<Record<string, RefusedField>> = {
  previous_response_id: { advice: 'send the whole conversation as input' },
  conversation: { advice: 'send the whole conversation as input' },
  messages: { advice: 'use input' },
  prompt: { advice: 'use input' },
  system: { advice: 'use instructions' },
  background: { neutral: [false] },
  truncation: { neutral: ['disabled'] },
  context_management: {},
  max_tool_calls: {},
  max_tokens: { advice: 'use max_output_tokens' },
  max_completion_tokens: { advice: 'use max_output_tokens' },
  n: { neutral: [1] },
  logprobs: { neutral: [false], advice: 'use include' },
  response_format: { advice: 'use text.format' },
  reasoning_effort: { advice: 'use reasoning.effort' },
  verbosity: { neutral: ['medium'] },
  continue_final_message: { neutral: [false] },
  add_generation_prompt: { neutral: [true] },
};

const completionsTable: Readonly<Record<string, RefusedField>> = {
  messages: { advice: 'use /v1/chat/completions' },
  input: { advice: 'use prompt' },
  instructions: { advice: 'put it into the prompt' },
  system: { advice: 'put it into the prompt' },
  tools: { neutral: [[]] },
  max_completion_tokens: maxTokens,
  max_output_tokens: maxTokens,
  top_logprobs: { advice: 'use logprobs' },
  reasoning_effort: {},
  reasoning_budget: {},
  continue_final_message: { neutral: [false] },
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

/**
 * Fields of each kind of request for generated text: each is a 400 that names it, unless its value asks for what happens
 * anyway.
 */
export const refusedChatFields = refusedFields({ ...samplingTable, ...conversationTable, ...chatTable });
export const refusedResponsesFields = refusedFields({ ...samplingTable, ...conversationTable, ...responsesTable });
export const refusedCompletionFields = refusedFields({ ...samplingTable, ...completionsTable });

/** For the fields of a route of its own. Values are `neutral` by name. */
export function refuseUnless(neutral: Readonly<Record<string, readonly unknown[]>>) {
  return refusedFields(
    Object.fromEntries(Object.entries(neutral).map(([name, values]) => [name, { neutral: values }])),
  );
}
