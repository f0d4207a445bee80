import { UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { byteTokenizerJson } from '../__fixtures__/byte-tokenizer.ts';
import { readFamily, sentencePieceFamilies } from '../__fixtures__/families.ts';
import { compile } from '../compile/compile.ts';
import { Encoder } from '../encode/encoder.ts';
import { readGguf } from '../read/read-gguf.ts';
import { deriveMerges } from '../read/spm-merges.ts';
import { type GgufTokenizerEntries, ggufTokenizer } from './gguf-tokenizer.ts';

const options = { vocabSize: 2000 };

function written(json: string, config?: Record<string, unknown>, more = {}): GgufTokenizerEntries {
  return ggufTokenizer({ kind: 'tokenizer-json', json, config }, { ...options, ...more });
}

function readBack(entries: GgufTokenizerEntries) {
  const plain = [...entries].map(([key, entry]) => [key, typeof entry === 'object' ? entry.value : entry] as const);
  return readGguf(new Map<string, unknown>(plain));
}

describe('byte-level tokenizers', () => {
  it.each([
    ['gpt2', 'gpt-2'],
    ['smollm', 'smollm'],
    ['llama3', 'llama-bpe'],
    ['qwen2', 'qwen2'],
    ['tekken', 'tekken'],
    ['gpt4o', 'gpt-4o'],
    ['qwen35', 'qwen35'],
    ['neox', 'olmo'],
    ['gguf-default', 'default'],
  ])('%s: found in the table, and encodes as before', (name, pre) => {
    const { json, cases } = readFamily(name);
    const entries = written(json);
    expect(entries.get('tokenizer.ggml.model')).toBe('gpt2');
    expect(entries.get('tokenizer.ggml.pre')).toBe(pre);
    const encoder = new Encoder(compile(readBack(entries)).encoder);
    // GGUF does not hold the flags lstrip, rstrip, single_word and normalized.
    const flags = ['<mask>', '<pad>', 'word', '</tool>', 'ﬁ A\u030a'];
    const comparable = cases.filter(({ text }) => !flags.some((token) => text.includes(token)));
    expect(comparable.length).toBeGreaterThan(40);
    for (const { text, parsed } of comparable) expect([...encoder.encode(text, true, false)], text).toEqual(parsed);
  });

  it('keep roles, and as many tokens as the table has rows', () => {
    const config = { bos_token: '<|bos|>', eos_token: '<|eos|>', add_bos_token: true };
    const source = { kind: 'tokenizer-json', json: JSON.stringify(byteTokenizerJson()), config } as const;
    const entries = ggufTokenizer({ ...source, eosTokenIds: [264, 262] }, { ...options, vocabSize: 270 });
    const { value: tokens } = entries.get('tokenizer.ggml.tokens') as { value: readonly string[] };
    expect(tokens).toHaveLength(270);
    expect(tokens[269]).toBe('[PAD269]');
    const { value: types } = entries.get('tokenizer.ggml.token_type') as { value: Int32Array };
    expect([types[0], types[261], types[269]]).toEqual([1, 3, 5]);
    const { bosTokenId, eosTokenIds, addBos } = readBack(entries);
    expect({ bosTokenId, addBos }).toEqual({ bosTokenId: 261, addBos: true });
    expect([...eosTokenIds].sort()).toEqual([262, 264]);
  });

  it('are refused when GGUF has no name for them, or the table no rows', () => {
    for (const name of ['gpt2-prefix', 'splits']) {
      expect(() => written(readFamily(name).json)).toThrow(UnsupportedError);
      expect(() => written(readFamily(name).json)).toThrow(/has no name in GGUF; there are default, gpt-2/);
    }
    expect(() => written(JSON.stringify(byteTokenizerJson()), undefined, { vocabSize: 260 })).toThrow(
      /ids up to 265, but the embedding table has 260 rows/,
    );
  });
});

describe('SentencePiece tokenizers', () => {
  const metadata = sentencePieceFamilies.find(({ name }) => name === 'spm')!.metadata;
  const tokens = metadata['tokenizer.ggml.tokens'] as string[];
  const types = metadata['tokenizer.ggml.token_type'] as number[];
  const scores = metadata['tokenizer.ggml.scores'] as number[];

  /** The tokenizer.json that converters make of a SentencePiece model of Llama's kind. */
  function llamaJson(change: (merges: string[][]) => string[][] = (merges) => merges): string {
    const pieces = new Map(tokens.map((piece, id) => [piece, { id, score: scores[id]! }]));
    const normal = new Map([...pieces].filter(([, { id }]) => types[id] === 1));
    const triples = deriveMerges(normal);
    const merges = Array.from({ length: triples.length / 3 }, (_, i) => [
      tokens[triples[3 * i]!]!,
      tokens[triples[3 * i + 1]!]!,
    ]);
    const special = tokens.flatMap((content, id) => (types[id] === 3 || types[id] === 2 ? [{ id, content }] : []));
    return JSON.stringify({
      added_tokens: special.map((token) => ({ ...token, special: true, normalized: false })),
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '▁' },
          { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
        ],
      },
      // As in Gemma's: it splits at blanks that are gone.
      pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'MergedWithPrevious', invert: false },
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
          { type: 'ByteFallback' },
          { type: 'Fuse' },
          { type: 'Strip', content: ' ', start: 1, stop: 0 },
        ],
      },
      model: {
        type: 'BPE',
        unk_token: tokens[types.indexOf(2)],
        fuse_unk: true,
        byte_fallback: true,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: change(merges),
      },
    });
  }

  it('get scores that give the same merges', () => {
    const entries = written(llamaJson());
    expect(entries.get('tokenizer.ggml.model')).toBe('llama');
    expect(entries.get('tokenizer.ggml.add_space_prefix')).toBe(true);
    const encoder = new Encoder(compile(readBack(entries)).encoder);
    const cases = sentencePieceFamilies.find(({ name }) => name === 'spm')!.cases;
    const plain = cases.filter(({ text }) => text !== '');
    expect(plain.length).toBeGreaterThan(20);
    for (const { text, ids } of plain) expect([...encoder.encode(text, false, false)], text).toEqual(ids);
  });

  it('are refused when no scores do, or blanks are treated otherwise', () => {
    // One way to a piece is missing, which scores cannot say.
    expect(() => written(llamaJson((merges) => merges.slice(1)))).toThrow(UnsupportedError);
    expect(() => written(readFamily('metaspace-split').json)).toThrow(/is no SentencePiece model as GGUF knows it/);
  });
});
