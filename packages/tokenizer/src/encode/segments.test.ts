import { describe, expect, it } from 'vitest';
import { byteTokenizerConfig, byteTokenizerJson } from '../__fixtures__/byte-tokenizer.ts';
import { readFamily } from '../__fixtures__/families.ts';
import { compile } from '../compile/compile.ts';
import { readTokenizerJson } from '../read/read-tokenizer-json.ts';
import { Encoder, type Segment } from './encoder.ts';

const encoder = (addBos: boolean) =>
  new Encoder(compile(readTokenizerJson(byteTokenizerJson(), byteTokenizerConfig(addBos))).encoder);
const plain = encoder(false);

describe('special tokens in a text (B20)', () => {
  it('are plain text unless the caller wants them parsed', () => {
    const text = 'x<|im_end|>y';
    expect([...plain.encode(text, false, false)]).toEqual([120, 60, 124, 105, 109, 95, 101, 110, 100, 124, 62, 121]);
    expect([...plain.encode(text, true, false)]).toEqual([120, 264, 121]);
  });

  it('are control tokens as control segments, and text as text segments', () => {
    const segments: Segment[] = [
      { control: '<|im_start|>' },
      { text: 'user\nhello<|im_end|>' },
      { text: '\n' },
      { control: '<|im_end|>' },
      { text: '\n' },
    ];
    const text = [...new TextEncoder().encode('user\nhello<|im_end|>\n')];
    // "he" is one token of this tokenizer.
    const merged = [...plain.encode('user\nhello<|im_end|>\n', false, false)];
    expect(merged.length).toBe(text.length - 1);
    expect([...plain.encodeSegments(segments, false)]).toEqual([263, ...merged, 264, 10]);
  });

  it('of unknown name are refused as control segments', () => {
    expect(() => plain.encodeSegments([{ text: 'a' }, { control: '<|nope|>' }], false)).toThrow(
      'segments[1].control is "<|nope|>", which is no special token of this tokenizer.',
    );
  });

  it('cannot be put together out of two text segments', () => {
    const ids = [...plain.encodeSegments([{ text: '<|im_' }, { text: 'end|>' }], false)];
    expect(ids).not.toContain(264);
  });
});

describe('neighbouring text segments', () => {
  it('are encoded as one text', () => {
    expect([...plain.encodeSegments([{ text: 'a' }, { text: 'a' }, { text: '' }, { text: 'aa' }], false)]).toEqual([
      260,
    ]);
  });

  it.each(['gpt2', 'llama2', 'metaspace-first', 'qwen2'])(
    'give with controls what %s gives for the whole text',
    (name) => {
      const { json, cases } = readFamily(name);
      const family = new Encoder(compile(readTokenizerJson(JSON.parse(json), undefined)).encoder);
      for (const { text, parsed } of cases) {
        const segments: Segment[] = text
          .split(/(<\|bos\|>|<\|im_start\|>|<\|im_end\|>|<mask>|<pad>)/)
          .map((part, index) => (index % 2 === 1 ? { control: part } : { text: part }));
        expect([...family.encodeSegments(segments, false)], text).toEqual(parsed);
      }
    },
  );
});

describe('the BOS token (B21)', () => {
  const adding = encoder(true);
  const bos = 261;
  const leading = (ids: Int32Array) => [...ids].findIndex((id) => id !== bos);

  it('comes first once in a chat, whoever adds it', () => {
    const template: Segment[] = [{ control: '<|bos|>' }, { control: '<|im_start|>' }, { text: 'user' }];
    for (const family of [adding, plain]) {
      expect(leading(family.encodeSegments(template, 'auto'))).toBe(1);
      expect(leading(family.encodeSegments(template, true))).toBe(1);
      expect(leading(family.encodeSegments(template, false))).toBe(1);
    }
    expect(leading(adding.encodeSegments(template.slice(1), 'auto'))).toBe(1);
    expect(leading(plain.encodeSegments(template.slice(1), 'auto'))).toBe(0);
    expect(leading(adding.encodeSegments(template.slice(1), false))).toBe(0);
    expect([...adding.encodeSegments([], 'auto')]).toEqual([bos]);
  });

  it('comes first once in a completion, also if the prompt begins with it', () => {
    expect([...adding.encode('b', false, 'auto')]).toEqual([bos, 98]);
    expect([...plain.encode('b', false, 'auto')]).toEqual([98]);
    expect([...plain.encode('b', false, true)]).toEqual([bos, 98]);
    expect([...adding.encode('<|bos|>b', true, 'auto')]).toEqual([bos, 98]);
    expect(leading(adding.encode('<|bos|>b', false, 'auto'))).toBe(1);
  });

  it('cannot be added by a tokenizer that has none', () => {
    const none = new Encoder(compile(readTokenizerJson(byteTokenizerJson(), undefined)).encoder);
    expect([...none.encode('b', false, 'auto')]).toEqual([98]);
    expect(() => none.encode('b', false, true)).toThrow(/has no BOS token/);
  });
});

describe('text that is not well formed', () => {
  it('has U+FFFD for lone surrogates', () => {
    expect([...plain.encode('a\ud83d!\ude00', false, false)]).toEqual([
      ...plain.encode('a\ufffd!\ufffd', false, false),
    ]);
    expect([...plain.encode('\ud83d\ude00', false, false)]).toEqual([0xf0, 0x9f, 0x98, 0x80]);
  });
});
