import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { families, type LongCases, longTexts, sentencePieceFamilies } from '../__fixtures__/families.ts';
import { compile } from '../compile/compile.ts';
import { readGguf } from '../read/read-gguf.ts';
import { readTokenizerJson } from '../read/read-tokenizer-json.ts';
import { Encoder } from './encoder.ts';

const encoderOf = (json: string, config?: unknown) =>
  new Encoder(compile(readTokenizerJson(JSON.parse(json), config)).encoder);

function expectLong(encode: (text: string) => Int32Array, long: LongCases) {
  for (const [title, text] of Object.entries(longTexts)) {
    const ids = encode(text);
    expect({ title, count: ids.length }).toEqual({ title, count: long[title]?.count });
    expect(createHash('sha256').update(new Uint8Array(ids.buffer)).digest('hex'), title).toBe(long[title]?.sha256);
  }
}

describe.each(families)('$name gives the ids of $reference', ({ json, cases, long }) => {
  const encoder = encoderOf(json);

  it.each(cases)('for $text', ({ text, parsed, plain, bos }) => {
    expect([...encoder.encode(text, true, false)]).toEqual(parsed);
    expect([...encoder.encode(text, false, false)]).toEqual(plain ?? parsed);
    expect(encoder.encode(text, true, 'auto').length).toBe(
      parsed.length + (parsed[0] === encoder.encode('<|bos|>', true, false)[0] ? 0 : bos),
    );
  });

  it('for long texts (B22: words of 50,000 characters)', () => {
    expectLong((text) => encoder.encode(text, false, false), long);
  });
});

describe.each(sentencePieceFamilies)('GGUF metadata of $name gives the ids of $reference', (family) => {
  const encoder = new Encoder(compile(readGguf(new Map(Object.entries(family.metadata)))).encoder);

  it('for many texts', () => {
    for (const { text, ids } of family.cases) {
      expect([...encoder.encode(text, false, false)], JSON.stringify(text)).toEqual(ids);
    }
  });

  it('for long texts', () => {
    expectLong((text) => encoder.encode(text, false, false), family.long);
  });
});
