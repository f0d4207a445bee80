import { AbortError, MemoryFile } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import {
  array,
  concat,
  counting,
  entry,
  f32,
  f64,
  ggufBytes,
  joined,
  llamaEntries,
  text,
  u8,
  u16,
  u32,
  u64,
} from '../__fixtures__/gguf-bytes.ts';
import { readGguf } from './read-gguf.ts';
import { ggufTensorTypes } from './tensor-types.ts';

const read = (bytes: Uint8Array) => readGguf(new MemoryFile(bytes, 'model.gguf'));

describe('readGguf', () => {
  it('reads counts, names, shapes and places of a whole file', async () => {
    const bytes = ggufBytes();
    const header = await read(bytes);
    expect(header.version).toBe(3);
    expect(header.alignment).toBe(32);
    expect(header.metadata.get('general.name')).toBe('byte-built');
    expect(header.tensors).toHaveLength(12);
    const down = header.tensors.at(-1)!;
    // The file lists the fastest dimension first; shapes are rows first.
    expect(down).toEqual({
      name: 'blk.0.ffn_down.weight',
      dtype: 'f32',
      shape: [8, 12],
      offset: bytes.length - 96 * 4,
      byteLength: 96 * 4,
    });
    expect(bytes.subarray(down.offset, down.offset + down.byteLength)).toEqual(counting(96));
    expect(header.dataOffset % 32).toBe(0);
    expect(header.warnings).toEqual([]);
  });

  it('reads version 2, which has the same layout', async () => {
    expect((await read(ggufBytes({ version: 2 }))).version).toBe(2);
  });

  it('reads every type of value, and says which it was', async () => {
    const entries = [
      entry('u8', 'u8', u8(255)),
      entry('i8', 'i8', u8(-1)),
      entry('u16', 'u16', u16(65535)),
      entry('i16', 'i16', u16(-2)),
      entry('u32', 'u32', u32(4294967295)),
      entry('i32', 'i32', u32(-3)),
      entry('f32', 'f32', f32(0.1)),
      entry('f64', 'f64', f64(0.1)),
      entry('bool', 'bool', u8(1)),
      entry('string', 'string', text('ÿ😀\ufeff')),
      entry('u64', 'u64', u64(2n ** 53n - 1n)),
      entry('u64 large', 'u64', u64(2n ** 53n + 1n)),
      entry('i64', 'i64', u64(-4)),
      entry('i64 large', 'i64', u64(-(2n ** 63n))),
      entry('list', 'array', array('i16', [u16(1), u16(-1)])),
      entry('flags', 'array', array('bool', [u8(1), u8(0)])),
      entry('words', 'array', array('string', [text(''), text('\ufeffa')])),
      entry('longs', 'array', array('u64', [u64(2n ** 63n)])),
      entry('nested', 'array', array('array', [array('f32', [f32(1)]), array('f32', [])])),
      entry('nothing', 'array', array('string', [])),
    ];
    const { metadata, metadataTypes } = await read(ggufBytes({ entries, tensors: [] }));
    expect(Object.fromEntries(metadata)).toEqual({
      u8: 255,
      i8: -1,
      u16: 65535,
      i16: -2,
      u32: 4294967295,
      i32: -3,
      f32: Math.fround(0.1),
      f64: 0.1,
      bool: true,
      string: 'ÿ😀\ufeff',
      u64: 2 ** 53 - 1,
      'u64 large': 2n ** 53n + 1n,
      i64: -4,
      'i64 large': -(2n ** 63n),
      list: Int16Array.of(1, -1),
      flags: [true, false],
      words: ['', '\ufeffa'],
      longs: BigUint64Array.of(2n ** 63n),
      nested: [Float32Array.of(1), new Float32Array(0)],
      nothing: [],
    });
    expect(metadataTypes.get('u64 large')).toBe('u64');
    expect(metadataTypes.get('words')).toBe('array<string>');
    expect(metadataTypes.get('nested')).toBe('array<array<f32>>');
  });

  it('knows every tensor type by name and size', async () => {
    for (const [type, { name, blockElements, blockBytes }] of ggufTensorTypes) {
      const tensors = [{ name: 'x', dims: [blockElements * 2, 3], type, data: new Uint8Array(blockBytes * 6) }];
      const header = await read(ggufBytes({ tensors }));
      expect(header.tensors[0]).toMatchObject({
        dtype: name,
        shape: [3, blockElements * 2],
        byteLength: blockBytes * 6,
      });
    }
  });

  it('honours an alignment of 64', async () => {
    const entries = llamaEntries({ 'general.alignment': ['u32', u32(64)] });
    const header = await read(ggufBytes({ entries, alignment: 64 }));
    expect(header.alignment).toBe(64);
    expect(header.dataOffset % 64).toBe(0);
    expect(header.tensors.every((tensor) => tensor.offset % 64 === 0)).toBe(true);
  });

  it('reads a vocabulary that is longer than its window, text across window borders unharmed', async () => {
    // 80,000 strings of 8 + 3 to 12 bytes are more than a window of a megabyte; the three-byte characters cross borders.
    const tokens = Array.from({ length: 80_000 }, (_, i) => `雪${'x'.repeat(i % 10)}`);
    const encoded = joined(tokens.map((token) => text(token)));
    const entries = [
      entry('tokens', 'array', concat(u32(8), u64(tokens.length), encoded)),
      entry('after', 'u8', u8(7)),
    ];
    const { metadata } = await read(ggufBytes({ entries, tensors: [] }));
    // Joined, because comparing 80,000 elements one by one takes seconds.
    expect((metadata.get('tokens') as string[]).join('\n') === tokens.join('\n')).toBe(true);
    expect(metadata.get('after')).toBe(7);
  });

  it('reads one string and one array that are longer than its window', async () => {
    const long = 'é'.repeat(700_000);
    const numbers = Float32Array.from({ length: 300_000 }, (_, i) => i);
    const entries = [
      entry('long', 'string', text(long)),
      entry('numbers', 'array', concat(u32(6), u64(numbers.length), new Uint8Array(numbers.buffer))),
    ];
    const { metadata } = await read(ggufBytes({ entries, tensors: [] }));
    expect(metadata.get('long') === long).toBe(true);
    const read32 = metadata.get('numbers') as Float32Array;
    expect(read32.length).toBe(numbers.length);
    expect(read32.every((value, i) => value === i)).toBe(true);
  });

  it('replaces what is not UTF-8 in values, and warns with the key', async () => {
    const damaged = Uint8Array.of(0x61, 0xff, 0x62);
    const entries = [
      entry('general.name', 'string', text(damaged)),
      entry('tokens', 'array', array('string', [text('ok'), text(damaged), text('\ufffd')])),
    ];
    const { metadata, warnings } = await read(ggufBytes({ entries, tensors: [] }));
    expect(metadata.get('general.name')).toBe('a\ufffdb');
    // A replacement character that is in the file is no damage.
    expect(metadata.get('tokens')).toEqual(['ok', 'a\ufffdb', '\ufffd']);
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('"general.name" holds a string that is not UTF-8');
  });

  it('hashes the header and nothing of the data', async () => {
    const bytes = ggufBytes();
    const { headerHash } = await read(bytes);
    const otherData = bytes.slice();
    otherData[otherData.length - 1]! ^= 1;
    expect((await read(otherData)).headerHash).toBe(headerHash);
    const otherName = ggufBytes({ entries: llamaEntries({ 'general.name': ['string', text('byte-buils')] }) });
    expect((await read(otherName)).headerHash).not.toBe(headerHash);
    expect(headerHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('stops when its signal fires', async () => {
    const file = new MemoryFile(ggufBytes());
    await expect(readGguf(file, { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
  });

  it('lets the event loop run while it reads a large vocabulary', async () => {
    const encoded = joined(Array.from({ length: 20_000 }, () => text('word')));
    const entries = [entry('tokens', 'array', concat(u32(8), u64(20_000), encoded))];
    // The clock advances 11 ms a reading, so every check finds its slice spent.
    const realNow = performance.now;
    let now = 0;
    performance.now = () => (now += 11);
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    try {
      await read(ggufBytes({ entries, tensors: [] }));
    } finally {
      clearInterval(timer);
      performance.now = realNow;
    }
    expect(turns).toBeGreaterThan(2);
  });
});
