import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteTokenizerJson, numRows } from '../__fixtures__/byte-tokenizer.ts';
import { families, readFamily, sentencePieceFamilies } from '../__fixtures__/families.ts';
import { compile } from '../compile/compile.ts';
import { readGguf } from '../read/read-gguf.ts';
import { readTokenizerJson } from '../read/read-tokenizer-json.ts';
import { createDetokenizer, type DecodeOptions, decode } from './detokenizer.ts';
import { TokenBytes } from './token-bytes.ts';

const tokensOf = (json: unknown) => new TokenBytes(compile(readTokenizerJson(json, undefined)).decoder);

function stream(tokens: TokenBytes, ids: readonly number[], options: DecodeOptions = {}): string[] {
  const detokenizer = createDetokenizer(tokens, options);
  return [...ids.map((id) => detokenizer.push(id)), detokenizer.flush()];
}

const loneSurrogate = /\p{Surrogate}/u;

describe.each(families)('$name decodes as $reference', ({ name, json, cases, noise }) => {
  const tokens = tokensOf(JSON.parse(json));
  // The reference takes the letters of an added token for bytes if it can; the ligature and the ring of this one are not
  // among the 256 letters, and no other added token holds letters outside ASCII. So there is no divergence here.
  it('ids of texts, with and without special tokens, at once and in a stream', () => {
    for (const { parsed, decoded, decodedWithoutSpecials } of cases) {
      expect(decode(tokens, parsed, {})).toBe(decoded);
      expect(decode(tokens, parsed, { skipSpecialTokens: true })).toBe(decodedWithoutSpecials);
      expect(stream(tokens, parsed).join('')).toBe(decoded);
      expect(stream(tokens, parsed, { skipSpecialTokens: true }).join('')).toBe(decodedWithoutSpecials);
    }
  });

  it('ids that form no text', () => {
    for (const { ids, decoded } of noise) expect(decode(tokens, ids, {}), name).toBe(decoded);
  });
});

describe.each(sentencePieceFamilies)('GGUF metadata of $name decodes as $reference', ({ metadata, cases }) => {
  const tokens = new TokenBytes(compile(readGguf(new Map(Object.entries(metadata)))).decoder);
  it('ids of texts', () => {
    for (const { ids, decoded } of cases) {
      expect(decode(tokens, ids, {})).toBe(decoded);
      expect(stream(tokens, ids).join('')).toBe(decoded);
    }
  });
});

describe('a stream', () => {
  const tokens = tokensOf(byteTokenizerJson());
  const bytes = (text: string) => [...new TextEncoder().encode(text)];

  it('gives a character with its last byte and never a half (B18)', () => {
    expect(stream(tokens, bytes('abc😀dé.\n'))).toEqual(['a', 'b', 'c', '', '', '', '😀', 'd', '', 'é', '.', '\n', '']);
  });

  it('gives a byte order mark like any character', () => {
    expect(stream(tokens, bytes('\uFEFFa\uFEFF')).join('')).toBe('\uFEFFa\uFEFF');
    expect(decode(tokens, bytes('\uFEFFa'), {})).toBe('\uFEFFa');
  });

  it('gives what was held back as U+FFFD at the end, and begins anew', () => {
    const detokenizer = createDetokenizer(tokens, {});
    expect(detokenizer.push(0xf0)).toBe('');
    expect(detokenizer.push(0x9f)).toBe('');
    expect(detokenizer.flush()).toBe('\ufffd');
    expect(detokenizer.flush()).toBe('');
    expect(detokenizer.push(97)).toBe('a');
  });

  it('gives nothing for padding rows, which have no token (B24)', () => {
    expect(stream(tokens, [97, 270, 98, 99, 97, 270, 98, 99, 97]).join('')).toBe('abcabca');
    // A padding row within a character does not break it.
    expect(stream(tokens, [0xc3, numRows - 1, 0xa9, 5_000_000]).join('')).toBe('é');
    expect(() => decode(tokens, [-1], {})).toThrow(/token id must be a whole number/);
    expect(() => decode(tokens, [1.5], {})).toThrow(/token id/);
  });

  const anyIds = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 300 }), fc.constantFrom(0xf0, 0x9f, 0x98, 0x80, 0xe2, 0x82, 0xac)),
    { maxLength: 60 },
  );

  it('joins to the text of all ids, whatever they are, without half characters', () => {
    fc.assert(
      fc.property(anyIds, fc.boolean(), (ids, skipSpecialTokens) => {
        const pieces = stream(tokens, ids, { skipSpecialTokens });
        expect(pieces.join('')).toBe(decode(tokens, ids, { skipSpecialTokens }));
        for (const piece of pieces) expect(piece).not.toMatch(loneSurrogate);
      }),
      { seed: 7, numRuns: 500 },
    );
  });

  it.each(['llama2', 'metaspace-split', 'gemma'])('joins to the text of all ids with the blanks of %s', (name) => {
    const family = tokensOf(JSON.parse(readFamily(name).json));
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 530 }), { maxLength: 40 }),
        fc.boolean(),
        fc.boolean(),
        (ids, skipSpecialTokens, isStart) => {
          const options = { skipSpecialTokens, isStart };
          expect(stream(family, ids, options).join('')).toBe(decode(family, ids, options));
        },
      ),
      { seed: 7, numRuns: 300 },
    );
  });
});

describe('the blank before a text', () => {
  const { json } = readFamily('llama2');
  const tokens = tokensOf(JSON.parse(json));
  const vocabulary: Record<string, number> = JSON.parse(json).model.vocab;

  it('is taken away at the start only, and only if the ids begin a text', () => {
    const [piece, id] = Object.entries(vocabulary).find(([piece]) => /^▁\w+$/.test(piece))!;
    const word = piece.slice(1);
    expect(decode(tokens, [id, id], {})).toBe(`${word} ${word}`);
    expect(decode(tokens, [id, id], { isStart: false })).toBe(` ${word} ${word}`);
    expect(stream(tokens, [id, id], { isStart: false })).toEqual([` ${word}`, ` ${word}`, '']);
  });
});

describe('a special token', () => {
  it('is literal text, also where its letters could stand for bytes', () => {
    const file = byteTokenizerJson();
    file.added_tokens[0]!.content = 'café';
    expect(decode(tokensOf(file), [261], {})).toBe('café');
    expect(decode(tokensOf(file), [261], { skipSpecialTokens: true })).toBe('');
  });

  it('stays when it is one to keep, at once and in a stream, beside others that are left out', () => {
    const tokens = tokensOf(byteTokenizerJson());
    const special = Array.from({ length: numRows }, (_, id) => id).filter((id) => tokens.isSpecial(id));
    const [kept, other] = special as [number, number];
    const literal = decode(tokens, [kept], {});
    expect([literal, decode(tokens, [other], {})]).not.toContain('');
    // A kept one within a character ends it, like any text.
    const ids = [97, kept, other, 0xc3, kept, 98];
    const options = { skipSpecialTokens: true, keepSpecialTokens: new Set([kept]) };
    expect(decode(tokens, ids, options)).toBe(`a${literal}\ufffd${literal}b`);
    expect(stream(tokens, ids, options).join('')).toBe(decode(tokens, ids, options));
    // It says what is not left out, so alone it changes nothing.
    expect(decode(tokens, ids, { keepSpecialTokens: new Set([kept]) })).toBe(decode(tokens, ids, {}));
  });
});
