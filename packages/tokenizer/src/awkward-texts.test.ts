import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AwkwardFamily, awkwardFamilies } from './__fixtures__/awkward.ts';
import { compile } from './compile/compile.ts';
import { createDetokenizer, decode } from './decode/detokenizer.ts';
import { TokenBytes } from './decode/token-bytes.ts';
import { Encoder } from './encode/encoder.ts';
import { readGguf } from './read/read-gguf.ts';
import { readTokenizerJson } from './read/read-tokenizer-json.ts';
import type { TokenizerDefinition } from './tokenizer-definition.ts';

function use(definition: TokenizerDefinition) {
  const compiled = compile(definition);
  return { encoder: new Encoder(compiled.encoder), tokens: new TokenBytes(compiled.decoder) };
}

const fromJson = ({ json }: AwkwardFamily) => use(readTokenizerJson(json, undefined));
const fromGguf = ({ metadata }: AwkwardFamily) => use(readGguf(new Map(Object.entries(metadata))));

function stream(tokens: TokenBytes, ids: Iterable<number>): string {
  const detokenizer = createDetokenizer(tokens, {});
  return Array.from(ids, (id) => detokenizer.push(id)).join('') + detokenizer.flush();
}

/**
 * Gemma's runs of blanks are looked for among the letters that stand for blanks, so that they take in the same letter of the
 * text, before (`tokenizer.json`) or after (GGUF) blanks become it.
 */
const isComparable = ({ name }: AwkwardFamily, text: string) => name !== 'gemma-spm' || !text.includes('▁');

describe.each(awkwardFamilies)('$name: awkward texts', (family) => {
  const { reference, cases } = family;

  it(`have the ids of ${reference} through tokenizer.json`, () => {
    const { encoder } = fromJson(family);
    for (const { text, parsed, plain } of cases) {
      expect([...encoder.encode(text, true, false)], JSON.stringify(text)).toEqual(parsed);
      expect([...encoder.encode(text, false, false)], JSON.stringify(text)).toEqual(plain);
    }
  });

  it(`have the ids of ${reference} through GGUF metadata`, () => {
    const { encoder } = fromGguf(family);
    const comparable = cases.filter(({ text }) => isComparable(family, text));
    expect(comparable.length).toBeGreaterThan(400);
    for (const { text, parsed, plain } of comparable) {
      expect([...encoder.encode(text, true, false)], JSON.stringify(text)).toEqual(parsed);
      expect([...encoder.encode(text, false, false)], JSON.stringify(text)).toEqual(plain);
    }
  });

  it('have the text of the reference, at once and in a stream', () => {
    for (const { tokens } of [fromJson(family), fromGguf(family)]) {
      for (const { parsed, decoded } of cases) {
        expect(decode(tokens, parsed, {})).toBe(decoded);
        expect(stream(tokens, parsed)).toBe(decoded);
      }
    }
  });
});

const byteLevel = awkwardFamilies.filter(({ name }) => !name.endsWith('-spm'));

describe.each(byteLevel)('$name: any bytes', (family) => {
  const { encoder, tokens } = fromGguf(family);
  const bytes = fc.uint8Array({ maxLength: 200 });

  it('have a token for each, and a text for each list of them', () => {
    const idOfByte = Array.from({ length: 256 }, (_, byte) =>
      Array.from({ length: 2000 }, (_, id) => id).find((id) => {
        const piece = tokens.bytesOf(id);
        return piece.length === 1 && piece[0] === byte;
      }),
    );
    expect(idOfByte).not.toContain(undefined);
    const check = (content: Uint8Array<ArrayBuffer>) => {
      const ids = Array.from(content, (byte) => idOfByte[byte] as number);
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);
      expect(decode(tokens, ids, {})).toBe(text);
      expect(stream(tokens, ids)).toBe(text);
    };
    for (let byte = 0; byte < 256; byte++) check(Uint8Array.of(byte));
    fc.assert(fc.property(bytes, check), { seed: 5, numRuns: 200 });
  });

  it('come back from the ids of their text', () => {
    const composes = ['neox', 'qwen2', 'qwen35'].includes(family.name);
    const check = (text: string) => {
      const ids = encoder.encode(text, false, false);
      expect(decode(tokens, ids, {})).toBe(composes ? text.normalize('NFC') : text);
      expect(stream(tokens, ids)).toBe(decode(tokens, ids, {}));
    };
    for (let byte = 0; byte < 256; byte++) check(String.fromCharCode(byte));
    const anyText = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 100 }),
      bytes.map((content) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(content)),
    );
    fc.assert(fc.property(anyText, check), { seed: 5, numRuns: 200 });
  });
});
