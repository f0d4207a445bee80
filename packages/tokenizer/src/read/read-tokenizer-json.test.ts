import { HearthError, InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { byteTokenizerConfig, byteTokenizerJson } from '../__fixtures__/byte-tokenizer.ts';
import { compile } from '../compile/compile.ts';
import { Encoder } from '../encode/encoder.ts';
import { parseJson } from './parse-json.ts';
import { readTokenizerJson } from './read-tokenizer-json.ts';

type File = ReturnType<typeof byteTokenizerJson>;

const idsOf = (file: unknown, text: string) => [
  ...new Encoder(compile(readTokenizerJson(file, undefined)).encoder).encode(text, false, false),
];

function failure(run: () => unknown): HearthError {
  try {
    run();
  } catch (error) {
    if (HearthError.isInstance(error)) return error;
    throw error;
  }
  throw new Error('expected an error');
}

const damaged = (change: (file: File) => void, config?: unknown) => {
  const file = byteTokenizerJson();
  change(file);
  return failure(() => readTokenizerJson(file, config));
};

describe('merges (B17)', () => {
  const text = ' the aaa b a b';
  const ids = [258, 32, 259, 97, 32, 98, 32, 97, 32, 98];

  it('may be pairs or strings, and the type of the model may be absent', () => {
    const pairs = byteTokenizerJson();
    expect(idsOf(pairs, text)).toEqual(ids);
    const strings = byteTokenizerJson();
    strings.model.merges = strings.model.merges.map((pair) => (pair as string[]).join(' '));
    expect(idsOf(strings, text)).toEqual(ids);
    // As merges.txt has it; the reference library passes over it.
    strings.model.merges.unshift('#version: 0.2');
    expect(idsOf(strings, text)).toEqual(ids);
    const noType = byteTokenizerJson();
    noType.model.type = undefined;
    expect(idsOf(noType, text)).toEqual(ids);
  });

  it('may hold blanks within a part when they are pairs', () => {
    const file = byteTokenizerJson();
    file.pre_tokenizer = null;
    file.decoder = null;
    Object.assign(file.model.vocab, { 'a b': 266, ' b': 267, ' ': 268 });
    file.added_tokens = [];
    file.model.merges.push([' ', 'b'], ['a', ' b']);
    expect(idsOf(file, text)).toEqual([268, 116, 257, 268, 259, 266, 268, 266]);
  });

  it('of unknown parts or a wrong form are refused by place', () => {
    const unknown = damaged(({ model }) => model.merges.push(['zz', 'qq']));
    expect(unknown).toBeInstanceOf(InvalidModelError);
    expect(unknown.message).toBe('model.merges[5] merges "zz" and "qq", but "zz" is not in model.vocab.');
    expect(damaged(({ model }) => model.merges.push(['a', 'b'])).message).toContain('"ab" is not in model.vocab');
    expect(damaged(({ model }) => model.merges.push('a a')).message).toMatch(/model\.merges\[5\] must be a pair/);
    expect(damaged(({ model }) => model.merges.push(['a', 'a', 'a'])).message).toMatch(/merges\[5\] must be two parts/);
    expect(damaged(({ model }) => model.merges.push(['a', 7])).message).toMatch(/merges\[5\] must be two parts/);
    const strings = damaged(({ model }) => {
      model.merges = ['a a', 'a b c'];
    });
    expect(strings.message).toMatch(/model\.merges\[1\] must be two parts, but it is "a b c"/);
  });
});

describe('a damaged file', () => {
  const text = JSON.stringify(byteTokenizerJson());

  it('says where it was cut (B17)', () => {
    const length = text.indexOf('<|im_end|>') + 5; // within a string
    const cut = failure(() => parseJson(new TextEncoder().encode(text).slice(0, length), 'tokenizer.json'));
    expect(cut).toBeInstanceOf(InvalidModelError);
    expect(cut.message).toContain(`tokenizer.json is not valid JSON: it ends too early (line 1, column ${length + 1})`);
    expect(cut.details.column).toBe(length + 1);
    const half = JSON.stringify(byteTokenizerJson(), null, 1).slice(0, 2000);
    expect(failure(() => parseJson(half, 'tokenizer.json')).details.line).toBe(half.split('\n').length);
  });

  it('says which character is wrong, and that it has a byte order mark (B17)', () => {
    const wrong = failure(() => parseJson('{\n "a": 1,\n "b": x\n}', 'tokenizer.json'));
    expect(wrong.details).toMatchObject({ line: 3, column: 7 });
    expect(failure(() => parseJson(`\uFEFF${text}`, 'tokenizer.json')).message).toContain('byte order mark');
    const bytes = new Uint8Array([0xef, 0xbb, 0xbf, ...new TextEncoder().encode(text)]);
    expect(failure(() => parseJson(bytes, 'tokenizer.json')).message).toContain('byte order mark');
  });

  it('refuses nesting that reading it would not survive', () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    expect(parseJson(nested(64), 'tokenizer.json')).toHaveProperty('a');
    for (const depth of [65, 200_000]) {
      const refusal = failure(() => parseJson(nested(depth), 'tokenizer.json'));
      expect(refusal).toBeInstanceOf(InvalidModelError);
      expect(refusal.message).toContain('nested more than 64 levels deep');
    }
  });

  it('says that it is not UTF-8', () => {
    expect(failure(() => parseJson(new Uint8Array([0x22, 0xff, 0x22]), 'tokenizer.json')).message).toContain('UTF-8');
  });

  it.each<[place: string, change: (file: File) => void]>([
    ['model must be an object', (file) => Object.assign(file, { model: [] })],
    ['model.vocab must be an object', ({ model }) => Object.assign(model, { vocab: ['a'] })],
    ['model.vocab must be an object', ({ model }) => Object.assign(model, { vocab: {} })],
    ['model.vocab["a"] must be a token id', ({ model }) => Object.assign(model.vocab, { a: -1 })],
    ['model.vocab["a"] must be a token id', ({ model }) => Object.assign(model.vocab, { a: 1.5 })],
    ['model.vocab["a"] must be a token id', ({ model }) => Object.assign(model.vocab, { a: '97' })],
    ['model.vocab["a"] must be a token id', ({ model }) => Object.assign(model.vocab, { a: 2 ** 31 })],
    ['model.vocab["b"] has the id 97, which "a" has too', ({ model }) => Object.assign(model.vocab, { b: 97 })],
    ['model.merges must be a list', ({ model }) => Object.assign(model, { merges: undefined })],
    ['model.unk_token is "<unk>"', ({ model }) => Object.assign(model, { unk_token: '<unk>' })],
    ['model.fuse_unk must be true or false', ({ model }) => Object.assign(model, { fuse_unk: 'yes' })],
    ['added_tokens must be a list', (file) => Object.assign(file, { added_tokens: {} })],
    ['added_tokens[0].content must be a text', ({ added_tokens }) => Object.assign(added_tokens[0]!, { content: '' })],
    ['added_tokens[1].id must be a token id', ({ added_tokens }) => Object.assign(added_tokens[1]!, { id: null })],
    ['added_tokens[1] gives "<|eos|>" the id 97', ({ added_tokens }) => Object.assign(added_tokens[1]!, { id: 97 })],
    [
      'added_tokens[1] gives "<|bos|>" the id 262',
      ({ added_tokens }) => Object.assign(added_tokens[1]!, { content: '<|bos|>' }),
    ],
    ['added_tokens[1] gives "a" the id 262', ({ added_tokens }) => Object.assign(added_tokens[1]!, { content: 'a' })],
    [
      'normalizer.pattern.Regex must be a string',
      (file) => Object.assign(file, { normalizer: { type: 'Replace', pattern: {}, content: '' } }),
    ],
    [
      'pre_tokenizer.behavior must be one of',
      (file) => Object.assign(file, { pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: 'Odd' } }),
    ],
    [
      'pre_tokenizer.prepend_scheme must be',
      (file) => Object.assign(file, { pre_tokenizer: { type: 'Metaspace', prepend_scheme: 'last' } }),
    ],
    ['decoder must be an object', (file) => Object.assign(file, { decoder: 'ByteLevel' })],
  ])('%s', (place, change) => {
    const error = damaged(change);
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(error.message).toContain(place);
  });
});

describe('a file of a kind that Hearth does not have', () => {
  it.each<[named: string, change: (file: File) => void]>([
    ['model.type is "Unigram"', ({ model }) => Object.assign(model, { type: 'Unigram' })],
    ['model.type is "WordPiece"', ({ model }) => Object.assign(model, { type: 'WordPiece' })],
    [
      'model.continuing_subword_prefix is "##"',
      ({ model }) => Object.assign(model, { continuing_subword_prefix: '##' }),
    ],
    ['model.end_of_word_suffix is "</w>"', ({ model }) => Object.assign(model, { end_of_word_suffix: '</w>' })],
    ['model.dropout is 0.1', ({ model }) => Object.assign(model, { dropout: 0.1 })],
    [
      'normalizer is a normalizer of the type "BertNormalizer"',
      (file) => Object.assign(file, { normalizer: { type: 'BertNormalizer' } }),
    ],
    [
      'pre_tokenizer.pretokenizers[0] is a pre-tokenizer of the type "Whitespace"',
      (file) => Object.assign(file, { pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Whitespace' }] } }),
    ],
    [
      'goes on after ByteLevel',
      (file) =>
        Object.assign(file, {
          pre_tokenizer: { type: 'Sequence', pretokenizers: [file.pre_tokenizer, { type: 'Digits' }] },
        }),
    ],
    ['decoder is a decoder of the type "WordPiece"', (file) => Object.assign(file, { decoder: { type: 'WordPiece' } })],
    [
      'decoder strips something else',
      (file) => Object.assign(file, { decoder: { type: 'Strip', content: '_', start: 1, stop: 0 } }),
    ],
    [
      'decoder replaces by a regular expression',
      (file) => Object.assign(file, { decoder: { type: 'Replace', pattern: { Regex: 'a' }, content: '' } }),
    ],
  ])('is refused by name: %s', (named, change) => {
    const error = damaged(change);
    expect(error).toBeInstanceOf(UnsupportedError);
    expect(error.message).toContain(named);
  });
});

describe('tokenizer_config.json', () => {
  const definitionWith = (config: unknown, postProcessor: unknown = null) =>
    readTokenizerJson({ ...byteTokenizerJson(), post_processor: postProcessor }, config);
  const template = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<|bos|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<|bos|>': { id: '<|bos|>', ids: [261], tokens: ['<|bos|>'] } },
  };

  it('names BOS and EOS, as strings or objects', () => {
    expect(definitionWith(byteTokenizerConfig(true))).toMatchObject({
      bosTokenId: 261,
      eosTokenIds: [262],
      addBos: true,
    });
    const objects = { bos_token: { content: '<|bos|>' }, eos_token: { content: '<|eos|>', lstrip: false } };
    expect(definitionWith(objects)).toMatchObject({ bosTokenId: 261, eosTokenIds: [262], addBos: false });
  });

  it('decides about BOS; without it the template does, then the class', () => {
    const { add_bos_token: _, ...silent } = byteTokenizerConfig(true);
    expect(definitionWith(undefined, template)).toMatchObject({ bosTokenId: 261, addBos: true });
    expect(definitionWith(byteTokenizerConfig(false), template).addBos).toBe(false);
    expect(definitionWith(silent, template).addBos).toBe(true);
    expect(definitionWith(silent, { type: 'Sequence', processors: [{ type: 'ByteLevel' }, template] }).addBos).toBe(
      true,
    );
    expect(definitionWith(silent, null).addBos).toBe(false);
    expect(definitionWith({ ...silent, tokenizer_class: 'LlamaTokenizer' }, null).addBos).toBe(true);
    expect(definitionWith({ ...silent, tokenizer_class: 'LlamaTokenizer', add_bos_token: false }, null).addBos).toBe(
      false,
    );
  });

  it('decides about the blank before the text where ByteLevel stands alone', () => {
    const steps = (addPrefixSpace: boolean, config: unknown, more: object = {}) =>
      readTokenizerJson(
        {
          ...byteTokenizerJson(),
          pre_tokenizer: { type: 'ByteLevel', add_prefix_space: addPrefixSpace, use_regex: true },
          ...more,
        },
        config,
      ).preTokenizer.map(({ kind }) => kind);
    expect(steps(true, undefined)).toContain('prefix-space');
    expect(steps(true, {})).not.toContain('prefix-space');
    expect(steps(true, { add_prefix_space: true })).toContain('prefix-space');
    expect(steps(false, { add_prefix_space: true })).toContain('prefix-space');
    const sequence = { type: 'Sequence', pretokenizers: [{ type: 'ByteLevel', add_prefix_space: false }] };
    expect(steps(false, { add_prefix_space: true }, { pre_tokenizer: sequence })).not.toContain('prefix-space');
    expect(failure(() => steps(false, { add_prefix_space: 1 })).message).toContain('add_prefix_space must be');
  });

  it('makes tokens special and brings tokens that tokenizer.json lacks', () => {
    const config = {
      additional_special_tokens: ['a', { content: 'b' }, 'not in the vocabulary'],
      added_tokens_decoder: { '270': { content: '<think>', special: false, normalized: false } },
    };
    const { addedTokens } = definitionWith(config);
    const find = (content: string) => addedTokens.find((token) => token.content === content);
    expect(find('a')).toMatchObject({ id: 97, special: true });
    expect(find('b')).toMatchObject({ id: 98, special: true });
    expect(find('<think>')).toMatchObject({ id: 270, special: false });
    expect(find('not in the vocabulary')).toBeUndefined();
  });

  it.each<[message: string, config: unknown]>([
    ['tokenizer_config.json must be an object', []],
    ['bos_token is "<s>", which is not in tokenizer.json', { bos_token: '<s>' }],
    ['eos_token.content must be a string', { eos_token: {} }],
    ['add_bos_token must be true or false', { bos_token: '<|bos|>', add_bos_token: 1 }],
    ['additional_special_tokens must be a list', { additional_special_tokens: 'x' }],
    ['added_tokens_decoder["x"] must be a token id', { added_tokens_decoder: { x: { content: 'y' } } }],
    ['gives "<|bos|>" the id 5', { added_tokens_decoder: { '5': { content: '<|bos|>' } } }],
  ])('is refused by place: %s', (message, config) => {
    expect(failure(() => definitionWith(config)).message).toContain(message);
  });

  it('is refused when the template names a token that it does not define', () => {
    expect(failure(() => definitionWith(undefined, { ...template, special_tokens: {} })).message).toContain(
      'post_processor.special_tokens["<|bos|>"]',
    );
  });
});
