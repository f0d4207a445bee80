import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./', import.meta.url);

/** What the reference library makes of one text. Written by `tools/make-fixtures.py`. */
export interface TextCase {
  text: string;
  /** Ids with special tokens parsed. */
  parsed: number[];
  /** Ids with special tokens as text; null if the same. */
  plain: number[] | null;
  /** Number of ids that the post-processor puts before the text. */
  bos: number;
  decoded: string;
  decodedWithoutSpecials: string;
}

export interface LongCases {
  [title: string]: { count: number; sha256: string };
}

export interface Family {
  name: string;
  json: string;
  reference: string;
  cases: TextCase[];
  noise: { ids: number[]; decoded: string }[];
  long: LongCases;
}

export interface SentencePieceFamily {
  name: string;
  reference: string;
  metadata: Record<string, unknown>;
  cases: { text: string; ids: number[]; decoded: string }[];
  long: LongCases;
}

const read = (file: string) => readFileSync(new URL(file, folder), 'utf8');

export function readFamily(name: string): Family {
  return { name, json: read(`${name}.tokenizer.json`), ...JSON.parse(read(`${name}.cases.json`)) };
}

/** Every family of small tokenizers in this folder. */
export const families: readonly Family[] = readdirSync(folder)
  .filter((file) => file.endsWith('.tokenizer.json'))
  .map((file) => readFamily(file.replace('.tokenizer.json', '')));

export const sentencePieceFamilies: readonly SentencePieceFamily[] = ['spm', 'spm-no-prefix', 'spm-tidy'].map(
  (name) => ({
    name,
    ...JSON.parse(read(`${name}.cases.json`)),
  }),
);

/** The long texts of `tools/make-fixtures.py`, built the same way. */
export const longTexts: Readonly<Record<string, string>> = {
  underscores: '_'.repeat(50_000),
  letters: 'abcdefghij'.repeat(5_000),
  'one letter': 'a'.repeat(50_000),
  blanks: ' '.repeat(50_000),
  'line feeds': '\n'.repeat(50_000),
  'combining marks': `e${'\u0301'.repeat(25_000)}`,
  han: Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(0x4e00 + ((i * 7919) % 20_000))).join(''),
  words: 'the quick brown fox '.repeat(2_500),
};
