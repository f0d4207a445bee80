import { monitorEventLoopDelay } from 'node:perf_hooks';
import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  byteTokenizerConfig,
  byteTokenizerJson,
  byteTokenizerMetadata,
  numRows,
} from './__fixtures__/byte-tokenizer.ts';
import { loadTokenizer } from './load-tokenizer.ts';
import type { Tokenizer } from './tokenizer.ts';

const json = JSON.stringify(byteTokenizerJson());
const fromJson = (addBos: boolean) => ({ kind: 'tokenizer-json', json, config: byteTokenizerConfig(addBos) }) as const;

describe('a tokenizer', () => {
  let tokenizer: Tokenizer;
  let fromGguf: Tokenizer;
  beforeAll(async () => {
    [tokenizer, fromGguf] = await Promise.all([
      loadTokenizer(fromJson(true)),
      loadTokenizer({ kind: 'gguf', metadata: byteTokenizerMetadata(true) }),
    ]);
  });
  afterAll(() => Promise.all([tokenizer.dispose(), fromGguf.dispose()]));

  it('says what it is', () => {
    expect(tokenizer).toMatchObject({ vocabSize: 266, bosTokenId: 261, eosTokenIds: [262], addsBos: true });
    expect(tokenizer.specialTokens).toContainEqual({ id: 264, content: '<|im_end|>' });
    expect(tokenizer.specialTokens).toHaveLength(5);
    expect(tokenizer.isSpecial(264)).toBe(true);
    expect(tokenizer.isSpecial(97)).toBe(false);
    expect(tokenizer.isSpecial(numRows - 1)).toBe(false);
    expect(tokenizer.tokenBytes(258)).toEqual(new TextEncoder().encode(' the'));
    expect(tokenizer.tokenBytes(200)).toEqual(new Uint8Array([200]));
    expect(tokenizer.tokenBytes(numRows - 1)).toEqual(new Uint8Array());
    expect(tokenizer.fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  it('encodes and decodes, from GGUF as from JSON (B21: one BOS in both forms)', async () => {
    for (const one of [tokenizer, fromGguf]) {
      const ids = await one.encode(' the aaa<|im_end|>é😀');
      expect([...ids.slice(0, 4)]).toEqual([261, 258, 32, 259]);
      expect(one.decode(ids, { skipSpecialTokens: true })).toBe(' the aaa<|im_end|>é😀');
      expect([...(await one.encode('x<|im_end|>', { specialTokens: 'parse', addBos: false }))]).toEqual([120, 264]);
      const chat = [{ control: '<|bos|>' }, { control: '<|im_start|>' }, { text: 'a<|im_end|>' }];
      const chatIds = [...(await one.encodeSegments(chat))];
      expect(chatIds.filter((id) => id === 261)).toHaveLength(1);
      expect(chatIds).not.toContain(264);
      const detokenizer = one.createDetokenizer();
      expect([...new TextEncoder().encode('é')].map((byte) => detokenizer.push(byte))).toEqual(['', 'é']);
    }
  });

  it('refuses wrong arguments by name', async () => {
    await expect(tokenizer.encode(5 as unknown as string)).rejects.toThrow('text must be a string, but it is number');
    await expect(tokenizer.encode('a', { specialTokens: 'odd' as 'text' })).rejects.toThrow('specialTokens must be');
    await expect(tokenizer.encodeSegments([{ text: 'a' }, { control: null as unknown as string }])).rejects.toThrow(
      'segments[1].control',
    );
    await expect(tokenizer.encodeSegments([{ control: '<|nope|>' }])).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(() => tokenizer.decode([0.5])).toThrow('token id must be a whole number');
  });

  it('stops when it is aborted, and goes on with the next text', async () => {
    const controller = new AbortController();
    const aborted = tokenizer.encode('aa '.repeat(1_000_000), { signal: controller.signal });
    const next = tokenizer.encode('b');
    controller.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    expect([...(await next)]).toEqual([261, 98]);
    await expect(tokenizer.encode('a', { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('leaves the event loop free while it encodes (B22)', async () => {
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const ids = await Promise.all(['_', ' ', '\n', 'a'].map((letter) => tokenizer.encode(letter.repeat(100_000))));
    delay.disable();
    expect(ids.map(({ length }) => length)).toEqual([100_001, 100_001, 100_001, 25_001]);
    // A watchdog of ten times the limit of 100 ms, since the machine is shared.
    expect(delay.max / 1e6).toBeLessThan(1000);
  });
});

describe('loading', () => {
  it('gives equal fingerprints for equal tokenizers and others for others', async () => {
    const sources = [
      fromJson(true),
      { ...fromJson(true), json: new TextEncoder().encode(json) },
      fromJson(false),
    ] as const;
    const tokenizers = await Promise.all(sources.map((source) => loadTokenizer(source)));
    const [first, second, third] = tokenizers.map(({ fingerprint }) => fingerprint);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    await Promise.all(tokenizers.map((tokenizer) => tokenizer.dispose()));
  });

  it('takes the config as bytes, more EOS ids, and leaves the bytes of the caller alone', async () => {
    const bytes = new TextEncoder().encode(json);
    const config = JSON.stringify(byteTokenizerConfig(false));
    const tokenizer = await loadTokenizer({ kind: 'tokenizer-json', json: bytes, config, eosTokenIds: [264, 262] });
    expect(bytes).toEqual(new TextEncoder().encode(json));
    expect(tokenizer.eosTokenIds).toEqual([262, 264]);
    await tokenizer.dispose();
  });

  it('refuses damaged and unknown input with typed errors that name the place', async () => {
    const cut = loadTokenizer({ kind: 'tokenizer-json', json: json.slice(0, -100) });
    await expect(cut).rejects.toBeInstanceOf(InvalidModelError);
    await expect(cut).rejects.toMatchObject({ details: { file: 'tokenizer.json', line: 1 } });
    const badConfig = loadTokenizer({ kind: 'tokenizer-json', json, config: '{' });
    await expect(badConfig).rejects.toThrow('tokenizer_config.json is not valid JSON');
    const badPattern = {
      ...byteTokenizerJson(),
      pre_tokenizer: { type: 'Split', pattern: { Regex: '(' }, behavior: 'Isolated' },
    };
    await expect(loadTokenizer({ kind: 'tokenizer-json', json: JSON.stringify(badPattern) })).rejects.toThrow(
      'The regular expression "("',
    );
    const pre = { ...byteTokenizerMetadata(true), 'tokenizer.ggml.pre': 'my-own' };
    await expect(loadTokenizer({ kind: 'gguf', metadata: new Map(Object.entries(pre)) })).rejects.toBeInstanceOf(
      UnsupportedError,
    );
    const many = byteTokenizerJson();
    for (let index = 0; index < 3; index++) {
      many.added_tokens.push({ ...many.added_tokens[0]!, id: 300 + index, content: `${index}`.repeat(1_000_000) });
    }
    await expect(loadTokenizer({ kind: 'tokenizer-json', json: JSON.stringify(many) })).rejects.toThrow(
      'The added tokens of the tokenizer have 3000043 characters',
    );
    await expect(loadTokenizer({ kind: 'other' } as never)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('keeps its limits', async () => {
    await expect(loadTokenizer(fromJson(true), { limits: { sourceSize: 1000 } })).rejects.toMatchObject({
      details: { limit: 'sourceSize' },
    });
    await expect(loadTokenizer(fromJson(true), { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    const deep = `{"model":${'['.repeat(100_000)}`;
    await expect(loadTokenizer({ kind: 'tokenizer-json', json: deep })).rejects.toBeInstanceOf(InvalidModelError);
  });
});

describe('limits of encoding', () => {
  it('refuse a text that is too long and end one that takes too long; then the tokenizer works on', async () => {
    // A pattern that backtracks without end, as a hostile file could have.
    const file = {
      ...byteTokenizerJson(),
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Split', pattern: { Regex: '(?:x+x+)+y' }, behavior: 'Isolated' },
          { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
        ],
      },
    };
    const limits = { encodeTimeMs: 300, textLength: 1000 };
    const tokenizer = await loadTokenizer({ kind: 'tokenizer-json', json: JSON.stringify(file) }, { limits });
    await expect(tokenizer.encode('x'.repeat(60))).rejects.toMatchObject({
      code: 'limit_exceeded',
      details: { limit: 'time' },
    });
    expect([...(await tokenizer.encode('b'))]).toEqual([98]);
    await expect(tokenizer.encode('b'.repeat(1001))).rejects.toMatchObject({
      details: { limit: 'textLength', length: 1001 },
    });
    await tokenizer.dispose();
  });
});

describe('dispose', () => {
  it('rejects what is open, may be called twice, and closes every method', async () => {
    const tokenizer = await loadTokenizer(fromJson(true));
    const open = tokenizer.encode('aa '.repeat(500_000));
    const expectation = expect(open).rejects.toMatchObject({ code: 'disposed' });
    await Promise.all([tokenizer.dispose(), tokenizer.dispose()]);
    await expectation;
    await expect(tokenizer.encode('a')).rejects.toMatchObject({ code: 'disposed' });
    await expect(tokenizer.encodeSegments([])).rejects.toMatchObject({ code: 'disposed' });
    for (const use of [
      () => tokenizer.decode([1]),
      () => tokenizer.createDetokenizer(),
      () => tokenizer.tokenBytes(1),
      () => tokenizer.isSpecial(1),
    ]) {
      expect(use).toThrow(/disposed/);
    }
    expect(tokenizer.vocabSize).toBe(266);
  });
});
