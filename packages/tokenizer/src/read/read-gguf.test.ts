import { HearthError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { awkwardFamilies } from '../__fixtures__/awkward.ts';
import { byteTokenizerJson, byteTokenizerMetadata } from '../__fixtures__/byte-tokenizer.ts';
import { readFamily, sentencePieceFamilies } from '../__fixtures__/families.ts';
import { metadataOf } from '../__fixtures__/gguf-metadata.ts';
import { compile } from '../compile/compile.ts';
import { decode } from '../decode/detokenizer.ts';
import { TokenBytes } from '../decode/token-bytes.ts';
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

describe('the table of pre-tokenizers gives the ids of the tokenizer.json', () => {
  it.each([
    ['gpt2', 'gpt-2'],
    ['smollm', 'smollm'],
    ['llama3', 'llama-bpe'],
    ['qwen2', 'qwen2'],
    ['tekken', 'tekken'],
    ['gpt4o', 'gpt-4o'],
    ['qwen35', 'qwen35'],
    ['neox', 'olmo'],
    ['neox', 'mpt'],
    ['gguf-default', 'default'],
  ])('%s', (name, pre) => {
    const { json, cases } = readFamily(name);
    const encoder = new Encoder(compile(read(metadataOf(JSON.parse(json), pre))).encoder);
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
    const { 'tokenizer.ggml.pre': _, ...metadata } = metadataOf(JSON.parse(json), 'default');
    expect(read(metadata).preTokenizer).toEqual(read(metadataOf(JSON.parse(json), 'default')).preTokenizer);
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

describe('rows of padding (B24)', () => {
  const metadata = byteTokenizerMetadata(false);
  const padded = (row: string) =>
    compile(
      read({
        ...metadata,
        'tokenizer.ggml.tokens': [...(metadata['tokenizer.ggml.tokens'] as string[]), row, '[PAD267]'],
        'tokenizer.ggml.token_type': [...(metadata['tokenizer.ggml.token_type'] as number[]), 5, 5],
      }),
    );

  it('have no text and are found in none', () => {
    const { decoder, encoder } = padded('[PAD266]');
    expect(decode(new TokenBytes(decoder), [97, 266, 267, 98], {})).toBe('ab');
    expect([...new Encoder(encoder).encode('[PAD266]', true, false)]).not.toContain(266);
  });

  it('are those that converters name so; other unused tokens have a text', () => {
    const { decoder } = padded('[PAD7]');
    expect(decode(new TokenBytes(decoder), [97, 266, 267, 98], {})).toBe('a[PAD7]b');
  });
});

describe('what a SentencePiece model of a family does without saying so', () => {
  const family = (name: string) => awkwardFamilies.find((family) => family.name === name)!.metadata;
  const pieces = (metadata: Record<string, unknown>, text: string) => {
    const tokens = metadata['tokenizer.ggml.tokens'] as string[];
    return Array.from(new Encoder(compile(read(metadata)).encoder).encode(text, true, false), (id) => tokens[id]);
  };

  it('Phi-3: tokens swallow the white space on their right', () => {
    const phi3 = family('phi3-spm');
    expect(pieces(phi3, '<|user|> \n\n<|end|>')).toEqual(['<|user|>', '<|end|>']);
    expect(pieces(phi3, '<|endoftext|>\n<|end|>')).toEqual(['<|endoftext|>', '▁', '<0x0A>', '<|end|>']);
    expect(pieces({ ...phi3, 'general.architecture': 'llama' }, '<|user|>\n<|end|>')).toHaveLength(4);
  });

  it('Mistral: the blank comes before the text only and not after its tokens', () => {
    const mistral = family('mistral-spm');
    expect(pieces(mistral, 'a[INST]a[/INST] a')).toEqual(['▁a', '[INST]', 'a', '[/INST]', '▁a']);
    expect(pieces({ ...mistral, 'tokenizer.ggml.add_space_prefix': false }, 'a')).toEqual(['a']);
    expect(pieces(family('llama-spm'), 'a<|im_end|>a')).toEqual(['▁a', '<|im_end|>', '▁a']);
  });

  it('Gemma: runs of blanks are tokens, spelled with blanks or with the letter for them', () => {
    const gemma = family('gemma-spm');
    const tokens = (gemma['tokenizer.ggml.tokens'] as string[]).map((token) =>
      /^ +$/.test(token) ? token.replaceAll(' ', '▁') : token,
    );
    expect(pieces(gemma, '   a  ')).toEqual(['   ', 'a', '  ']);
    expect(pieces({ ...gemma, 'tokenizer.ggml.tokens': tokens }, '   a  ')).toEqual(['▁▁▁', 'a', '▁▁']);
  });
});

describe('damaged metadata is refused by key', () => {
  const spm = sentencePieceFamilies[0]!.metadata;
  it.each<[message: string, change: Record<string, unknown>, base?: Record<string, unknown>]>([
    ['no tokenizer (tokenizer.ggml.model is absent)', { 'tokenizer.ggml.model': undefined }],
    ['tokenizer.ggml.model must be a string, but it is 7', { 'tokenizer.ggml.model': 7 }],
    ['tokenizer.ggml.model is "bert" (WordPiece), but', { 'tokenizer.ggml.model': 'bert' }],
    ['tokenizer.ggml.model is "t5" (Unigram), but', { 'tokenizer.ggml.model': 't5' }],
    ['tokenizer.ggml.model is "rwkv" (', { 'tokenizer.ggml.model': 'rwkv' }],
    ['tokenizer.ggml.model is "plamo2" (', { 'tokenizer.ggml.model': 'plamo2' }],
    ['tokenizer.ggml.model is "toString", but', { 'tokenizer.ggml.model': 'toString' }],
    ['tokenizer.ggml.precompiled_charsmap holds', { 'tokenizer.ggml.precompiled_charsmap': Uint8Array.of(1) }, spm],
    ['remove_extra_whitespaces must be', { 'tokenizer.ggml.remove_extra_whitespaces': 1 }, spm],
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
