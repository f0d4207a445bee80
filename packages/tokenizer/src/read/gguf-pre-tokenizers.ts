import { UnsupportedError } from '@hearth/core';
import type { NormalizerStep } from './normalizer-steps.ts';
import { gpt2Pattern, isolate, type PreTokenizerStep } from './pre-tokenizer-steps.ts';
import { show } from './read-value.ts';

/** What a byte-level model needs beside its vocabulary and merges, and GGUF does not hold. */
export interface BytePairPipeline {
  normalizer: readonly NormalizerStep[];
  /** Without the final `bytes` step, which all of them have. */
  preTokenizer: readonly PreTokenizerStep[];
  ignoreMerges: boolean;
  /** Whether BOS comes first when the file does not say. */
  addBos: boolean;
}

const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const tail = ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';
const upper = '[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]';
const lower = '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]';

const gpt2: BytePairPipeline = {
  normalizer: [],
  preTokenizer: [isolate(gpt2Pattern)],
  ignoreMerges: false,
  addBos: false,
};
/** GPT-NeoX's, which MPT and OLMo took over: as GPT-2, of composed text. */
const neox: BytePairPipeline = { ...gpt2, normalizer: [{ kind: 'unicode', form: 'NFC' }] };
const digitsApart: BytePairPipeline = { ...gpt2, preTokenizer: [isolate('\\p{N}'), isolate(gpt2Pattern)] };
const llama3: BytePairPipeline = {
  normalizer: [],
  preTokenizer: [isolate(`${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|${tail}`)],
  ignoreMerges: true,
  addBos: true,
};
const qwen2: BytePairPipeline = {
  normalizer: [{ kind: 'unicode', form: 'NFC' }],
  preTokenizer: [isolate(`${contractions}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|${tail}`)],
  ignoreMerges: false,
  addBos: false,
};
/** Qwen 3.5: marks belong to the word, as they must in Thai or Hindi. */
const qwen35: BytePairPipeline = {
  ...qwen2,
  preTokenizer: [
    isolate(
      `${contractions}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
    ),
  ],
};
const tekken: BytePairPipeline = {
  normalizer: [],
  preTokenizer: [
    isolate(
      `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
    ),
  ],
  ignoreMerges: true,
  addBos: true,
};
/** The o200k vocabulary: words end where capitals begin, and contractions stay with their word. */
const gpt4o: BytePairPipeline = {
  ...gpt2,
  preTokenizer: [
    isolate(
      `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${contractions}?|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${contractions}?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`,
    ),
  ],
};
/** What GGUF files without the key were made for: a chain of splits, each cutting what the one before left. */
const byDefault: BytePairPipeline = {
  ...gpt2,
  preTokenizer: [
    isolate('[\\p{P}\\$\\+<=>\\^~\\|]+'),
    isolate("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"),
    isolate('\\p{N}+'),
    isolate('[0-9][0-9][0-9]'),
  ],
};

/** `tokenizer.ggml.pre` to the pipeline that the model was trained with. */
const pipelines: Readonly<Record<string, BytePairPipeline>> = {
  default: byDefault,
  'gpt-2': gpt2,
  'phi-2': gpt2,
  olmo: neox,
  mpt: neox,
  smollm: digitsApart,
  starcoder: digitsApart,
  refact: digitsApart,
  'llama-bpe': llama3,
  llama3,
  'llama-v3': llama3,
  qwen2,
  'deepseek-r1-qwen': qwen2,
  qwen35,
  tekken,
  'gpt-4o': gpt4o,
  // Phi-4: the cl100k vocabulary, which Llama 3 extends.
  dbrx: { ...llama3, ignoreMerges: false, addBos: false },
};

/** Every name in the table; where several mean the same, the one that most readers know comes first. */
export const pipelineNames: readonly string[] = Object.keys(pipelines);

/** @throws UnsupportedError for a name that is not in the table: a guess would silently change every prompt. */
export function pipelineOf(pre: string): BytePairPipeline {
  const pipeline = Object.hasOwn(pipelines, pre) ? pipelines[pre] : undefined;
  if (pipeline !== undefined) return pipeline;
  throw new UnsupportedError(
    `The GGUF key tokenizer.ggml.pre is ${show(pre)}, a way of splitting text that Hearth does not know. It knows ${Object.keys(pipelines).join(', ')}.`,
    { details: { place: 'tokenizer.ggml.pre', pre } },
  );
}
