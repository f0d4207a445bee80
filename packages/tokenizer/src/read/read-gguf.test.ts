import { HearthError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { byteTokenizerJson, byteTokenizerMetadata } from '../__fixtures__/byte-tokenizer.ts';
import { readFamily, sentencePieceFamilies } from '../__fixtures__/families.ts';
import { compile } from '../compile/compile.ts';
import { Encoder } from '../encode/encoder.ts';
import { readGguf } from './read-gguf.ts';
import { readTokenizerJson } from './read-tokenizer-json.ts';
import { deriveMerges } from './spm-merges.ts';

const read = (metadata: Record<string, unknown>) => readGguf(new Map(Object.entries(metadata)));

function failure(metadata: Record<string, unknown>): HearthError {
  try {
    read(metadata);
  } catch (error) {
    if (HearthError.isInstance(error)) return error;
    throw error;
  }
  throw new Error('expected an error');
}

interface TokenizerFile {
  added_tokens: { id: number; content: string; special: boolean }[];
  model: { vocab: Record<string, number>; merges: string[][] };
}

/** What a converter to GGUF would write for a byte-level `tokenizer.json`. */
function metadataOf(json: string, pre: string): Record<string, unknown> {
  const { model, added_tokens }: TokenizerFile = JSON.parse(json);
  const tokens: string[] = [];
  const types: number[] = [];
  for (const [piece, id] of Object.entries(model.vocab)) {
    tokens[id] = piece;
    types[id] = 1;
  }
  for (const { id, content, special } of added_tokens) {
    tokens[id] = content;
    types[id] = special ? 3 : 4;
  }
  return {
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': pre,
    'tokenizer.ggml.tokens': tokens,
    'tokenizer.ggml.token_type': Int32Array.from(types),
    'tokenizer.ggml.merges': model.merges.map((pair) => pair.join(' ')),
  };
}

describe('the table of pre-tokenizers gives the ids of the tokenizer.json', () => {
  it.each([
    ['gpt2', 'gpt-2'],
    ['smollm', 'smollm'],
    ['llama3', 'llama-bpe'],
    ['qwen2', 'qwen2'],
    ['tekken', 'tekken'],
    ['gguf-default', 'default'],
  ])('%s', (name, pre) => {
    const { json, cases } = readFamily(name);
    const encoder = new Encoder(compile(read(metadataOf(json, pre))).encoder);
    // GGUF does not hold the flags lstrip, rstrip, single_word and normalized.
    const flags = ['<mask>', '<pad>', 'word', '</tool>', 'ﬁ A\u030a'];
    const comparable = cases.filter(({ text }) => !flags.some((token) => text.includes(token)));
    expect(comparable.length).toBeGreaterThan(40);
    for (const { text, parsed, plain } of comparable) {
      expect([...encoder.encode(text, true, false)], text).toEqual(parsed);
      expect([...encoder.encode(text, false, false)], text).toEqual(plain ?? parsed);
    }
  });

  it('takes the default chain when the key is absent', () => {
    const { json } = readFamily('gguf-default');
    const { 'tokenizer.ggml.pre': _, ...metadata } = metadataOf(json, 'default');
    expect(read(metadata).preTokenizer).toEqual(read(metadataOf(json, 'default')).preTokenizer);
  });
});

describe('roles', () => {
  it('come from the keys, as numbers or bigints', () => {
    const metadata = { ...byteTokenizerMetadata(true), 'tokenizer.ggml.eot_token_id': 264n };
    // <|im_end|> is also found by its name; one id is listed once.
    expect(read(metadata)).toMatchObject({ bosTokenId: 261, eosTokenIds: [262, 264], addBos: true });
    expect(read(byteTokenizerMetadata(false)).addBos).toBe(false);
  });

  it('of BOS follow the family when the key is absent', () => {
    const { 'tokenizer.ggml.add_bos_token': _, ...metadata } = byteTokenizerMetadata(true);
    expect(read(metadata).addBos).toBe(false);
    expect(read({ ...metadata, 'tokenizer.ggml.pre': 'llama-bpe' }).addBos).toBe(true);
    expect(
      read({ ...metadata, 'tokenizer.ggml.pre': 'llama-bpe', 'tokenizer.ggml.bos_token_id': undefined }).addBos,
    ).toBe(false);
  });

  it('agree with the tokenizer.json of the same model', () => {
    const gguf = compile(read(byteTokenizerMetadata(false)));
    const json = compile(readTokenizerJson(byteTokenizerJson(), undefined));
    expect(gguf.decoder).toEqual(json.decoder);
    expect(gguf.encoder.merges).toEqual(json.encoder.merges);
  });
});

describe('damaged metadata is refused by key', () => {
  const spm = sentencePieceFamilies[0]!.metadata;
  it.each<[message: string, change: Record<string, unknown>, base?: Record<string, unknown>]>([
    ['tokenizer.ggml.model must be a string, but it is absent', { 'tokenizer.ggml.model': undefined }],
    ['tokenizer.ggml.model is "bert"', { 'tokenizer.ggml.model': 'bert' }],
    ['tokenizer.ggml.pre is "my-own"', { 'tokenizer.ggml.pre': 'my-own' }],
    ['tokenizer.ggml.pre is "toString"', { 'tokenizer.ggml.pre': 'toString' }],
    ['tokenizer.ggml.tokens must be a list', { 'tokenizer.ggml.tokens': 7 }],
    ['tokenizer.ggml.tokens must be a list of 1 to', { 'tokenizer.ggml.tokens': [] }],
    ['tokenizer.ggml.tokens[1] must be a string', { 'tokenizer.ggml.tokens': ['a', 2] }],
    ['tokenizer.ggml.token_type must be a list of 266 numbers', { 'tokenizer.ggml.token_type': [1] }],
    ['tokenizer.ggml.token_type must be a list', { 'tokenizer.ggml.token_type': undefined }],
    ['tokenizer.ggml.merges must be a list', { 'tokenizer.ggml.merges': undefined }],
    ['tokenizer.ggml.merges[0] must be two parts', { 'tokenizer.ggml.merges': ['ab'] }],
    ['tokenizer.ggml.merges[0] merges "zz" and "a"', { 'tokenizer.ggml.merges': ['zz a'] }],
    ['tokenizer.ggml.bos_token_id must be the id of one of the 266 tokens', { 'tokenizer.ggml.bos_token_id': 266 }],
    ['tokenizer.ggml.eos_token_id must be a token id', { 'tokenizer.ggml.eos_token_id': -1 }],
    ['tokenizer.ggml.add_bos_token must be true or false', { 'tokenizer.ggml.add_bos_token': 'no' }],
    ['tokenizer.ggml.scores must be a list', { 'tokenizer.ggml.scores': undefined }, spm],
    [
      'tokenizer.ggml.scores[0] must be a number',
      { 'tokenizer.ggml.scores': (spm['tokenizer.ggml.scores'] as number[]).map(() => Number.NaN) },
      spm,
    ],
  ])('%s', (message, change, base = byteTokenizerMetadata(true)) => {
    expect(failure({ ...base, ...change }).message).toContain(message);
  });
});

describe('deriveMerges', () => {
  it('orders by score, then by the ids of whole and parts', () => {
    const scores: [string, number][] = [
      ['a', 0],
      ['b', 0],
      ['ab', -2],
      ['abb', -1],
      ['bb', -2],
      ['x', 0],
    ];
    const pieces = new Map(scores.map(([piece, score], id) => [piece, { id, score }]));
    const names = scores.map(([piece]) => piece);
    const merges = deriveMerges(pieces);
    const named = Array.from({ length: merges.length / 3 }, (_, i) =>
      [...merges.subarray(3 * i, 3 * i + 3)].map((id) => names[id]),
    );
    expect(named).toEqual([
      ['a', 'bb', 'abb'],
      ['ab', 'b', 'abb'],
      ['a', 'b', 'ab'],
      ['b', 'b', 'bb'],
    ]);
  });
});
