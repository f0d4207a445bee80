import { readFileSync } from 'node:fs';
import { metadataOf } from './gguf-metadata.ts';

/** What the reference library makes of one awkward text. Written by `tools/make-fixtures.py`. */
export interface AwkwardCase {
  text: string;
  /** Ids with special tokens parsed. */
  parsed: number[];
  /** Ids with special tokens as text. */
  plain: number[];
  /** Text of `parsed`. */
  decoded: string;
}

/** A family with a vocabulary that was cut to the texts, in both forms that a model may have. */
export interface AwkwardFamily {
  name: string;
  reference: string;
  /** Parsed `tokenizer.json`. */
  json: Record<string, unknown>;
  /** The same tokenizer as the metadata of a GGUF file. */
  metadata: Record<string, unknown>;
  cases: AwkwardCase[];
}

interface AwkwardFile {
  reference: string;
  /** Ids, if the text comes back and has no special tokens; else ids, plain ids or null, decoded text or null. */
  cases: (number[] | [number[], number[] | null, string | null])[];
  /** A pipeline over the vocabulary that all byte-level families share. */
  pipeline?: Record<string, unknown>;
  model?: Record<string, unknown>;
  /** A SentencePiece model of its own. */
  tokenizer?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

/** Families by their fixture, with the `tokenizer.ggml.pre` of byte-level ones. */
const families: readonly [name: string, pre?: string][] = [
  ['gpt2', 'gpt-2'],
  ['neox', 'olmo'],
  ['smollm', 'smollm'],
  ['llama3', 'llama-bpe'],
  ['qwen2', 'qwen2'],
  ['qwen35', 'qwen35'],
  ['tekken', 'tekken'],
  ['gpt4o', 'gpt-4o'],
  ['llama-spm'],
  ['mistral-spm'],
  ['gemma-spm'],
  ['phi3-spm'],
];

const read = (name: string) => JSON.parse(readFileSync(new URL(`awkward/${name}.json`, import.meta.url), 'utf8'));
const texts: string[] = read('texts');
const byteLevel = read('byte-level');

export const awkwardFamilies: readonly AwkwardFamily[] = families.map(([name, pre]) => {
  const { reference, cases, pipeline, model, tokenizer, metadata }: AwkwardFile = read(name);
  return {
    name,
    reference,
    json: tokenizer ?? { ...byteLevel, ...pipeline, model: { ...byteLevel.model, ...model } },
    metadata: metadata ?? metadataOf(byteLevel, pre as string),
    cases: cases.map((found, index) => toCase(texts[index] as string, found)),
  };
});

function toCase(text: string, found: AwkwardFile['cases'][number]): AwkwardCase {
  if (!isLong(found)) return { text, parsed: found, plain: found, decoded: text };
  const [parsed, plain, decoded] = found;
  return { text, parsed, plain: plain ?? parsed, decoded: decoded ?? text };
}

function isLong(found: AwkwardFile['cases'][number]): found is [number[], number[] | null, string | null] {
  return Array.isArray(found[0]);
}
