import { type HearthError, InvalidModelError, MemoryFile, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import {
  array,
  concat,
  entry,
  type GgufBytes,
  ggufBytes,
  llamaEntries,
  llamaTensors,
  type TensorBytes,
  text,
  u8,
  u32,
  u64,
} from '../__fixtures__/gguf-bytes.ts';
import { readGguf } from './read-gguf.ts';
import { metadataLimits } from './read-metadata.ts';
import { tensorLimits } from './read-tensor-infos.ts';

/** A file that counts how many bytes are asked of it: reading is the one way in which a header can make us allocate. */
class CountedFile extends MemoryFile {
  bytesRead = 0;

  override async read(offset: number, length: number): Promise<Uint8Array> {
    this.bytesRead += length;
    return super.read(offset, length);
  }
}

async function expectRefusal(
  bytes: Uint8Array,
  message: RegExp,
  type: typeof InvalidModelError | typeof UnsupportedError = InvalidModelError,
): Promise<void> {
  const file = new CountedFile(bytes, 'hostile.gguf');
  const error = await readGguf(file).then(
    () => expect.fail('the file was read'),
    (reason: unknown) => reason as HearthError,
  );
  expect(error).toBeInstanceOf(type);
  expect(error.message).toMatch(message);
  expect(error.message).toContain('hostile.gguf');
  // What a program may log must survive JSON (bigints do not).
  expect(() => JSON.stringify(error.details)).not.toThrow();
  // Bytes at the border of a window are read twice, nothing more often.
  expect(file.bytesRead).toBeLessThanOrEqual(2 * bytes.length);
}

const withTensor = (tensor: TensorBytes): GgufBytes => ({ tensors: [...llamaTensors(), tensor] });
const extra = (dims: (number | bigint)[]): TensorBytes => ({ name: 'extra.weight', dims, data: new Uint8Array(64) });
const withEntry = (bytes: Uint8Array): GgufBytes => ({ entries: [...llamaEntries(), bytes] });

describe('sizes that wrap or lose precision', () => {
  it('refuses a size that wraps to zero when it is rounded up to the alignment', async () => {
    // 4 · (2^30 − 1) · (2^30 + 1) · 4 bytes = 2^64 − 16
    const bytes = ggufBytes(withTensor(extra([4, 2 ** 30 - 1, 2 ** 30 + 1])));
    await expectRefusal(bytes, /"extra\.weight".* needs 18446744073709551600 bytes/);
  });

  it('refuses a product of dimensions that wraps', async () => {
    await expectRefusal(
      ggufBytes(withTensor(extra([2n ** 63n, 2]))),
      /"extra\.weight".* needs 73786976294838206464 bytes/,
    );
  });

  it('refuses dimensions above 2^53, exactly', async () => {
    const bytes = ggufBytes(withTensor(extra([2n ** 53n + 1n])));
    await expectRefusal(bytes, /9007199254740993\) needs 36028797018963972 bytes/);
    await expectRefusal(ggufBytes(withTensor(extra([2n ** 64n - 1n]))), /18446744073709551615/);
  });

  it('refuses an embedding table with more rows than the file has bytes', async () => {
    const tensors = llamaTensors().map((tensor, i) => (i === 0 ? { ...tensor, dims: [8, 2n ** 59n] } : tensor));
    await expectRefusal(ggufBytes({ tensors }), /"token_embd\.weight"/);
  });
});

describe('counts and lengths larger than the file', () => {
  it('refuses the number of tensors', async () => {
    await expectRefusal(ggufBytes({ numTensors: 2n ** 62n }), /4611686018427387904 tensors/);
    await expectRefusal(ggufBytes({ numTensors: 50_000_000, tensors: [] }), /50000000 tensors/);
    await expectRefusal(ggufBytes({ numTensors: 200_000, tensors: [] }), /200000 tensors, but only \d+ bytes are left/);
  });

  it('refuses the number of keys', async () => {
    await expectRefusal(ggufBytes({ numEntries: 2n ** 63n }), /9223372036854775808 metadata keys/);
    await expectRefusal(ggufBytes({ numEntries: 2n ** 40n }), /1099511627776 metadata keys/);
    await expectRefusal(ggufBytes({ numEntries: 60_000 }), /60000 metadata keys, but only \d+ bytes/);
  });

  it('refuses the length of an array', async () => {
    for (const type of ['u8', 'string', 'bool', 'array', 'u64'] as const) {
      const entries = withEntry(entry('x.arr', 'array', array(type, [], 2n ** 36n)));
      await expectRefusal(ggufBytes(entries), /"x\.arr" is an array of 68719476736 elements/);
    }
  });

  it('refuses the length of an array whose elements have a minimal size, before any of them is read', async () => {
    // There are enough bytes for that many bytes, but not for that many strings.
    const entries = [entry('x.arr', 'array', array('string', [], 1000)), entry('y', 'string', text('x'.repeat(5000)))];
    await expectRefusal(ggufBytes({ entries, tensors: [] }), /"x\.arr" is an array of 1000 elements of type string/);
  });

  it('refuses the length of a string', async () => {
    await expectRefusal(
      ggufBytes(withEntry(entry('x.s', 'string', text('abc', 2n ** 63n)))),
      /string of 9223372036854775808 bytes/,
    );
  });

  it('does not read a length of 2^32 + 3 as 3', async () => {
    await expectRefusal(
      ggufBytes(withEntry(entry('x.s', 'string', text('abc', 2 ** 32 + 3)))),
      /string of 4294967299 bytes/,
    );
    const inArray = entry('x.a', 'array', concat(u32(8), u64(1), text('abc', 2 ** 32 + 3)));
    await expectRefusal(ggufBytes(withEntry(inArray)), /"x\.a" has a string of 4294967299 bytes/);
  });

  it('refuses the length of a key or a tensor name', async () => {
    const cutKey = concat(u64(10_000_000), new TextEncoder().encode('k'));
    await expectRefusal(
      ggufBytes({ ...withEntry(cutKey), withData: false }),
      /metadata key 16 has a name of 10000000 bytes/,
    );
    const name = new Uint8Array(tensorLimits.nameBytes + 1).fill(0x61);
    await expectRefusal(ggufBytes(withTensor({ name, dims: [8] })), /tensor 12 has a name of 1025 bytes/);
  });

  it('refuses more strings than any vocabulary has, though the file holds them', async () => {
    const many = Math.floor(metadataLimits.arrayElements / 4) + 1;
    const empty = new Uint8Array(8 * many);
    const entries = [1, 2, 3, 4].map((i) => entry(`x${i}`, 'array', concat(u32(8), u64(many), empty)));
    await expectRefusal(ggufBytes({ entries, tensors: [] }), /more than 4194304 elements \(at key "x4"\)/);
  });

  it('refuses more text than any model has, though the file holds it', async () => {
    const long = new Uint8Array(metadataLimits.stringBytes / 2 + 1).fill(0x61);
    const entries = [entry('x1', 'string', text(long)), entry('x2', 'string', text(long))];
    await expectRefusal(ggufBytes({ entries, tensors: [] }), /more than 67108864 bytes of text \(at key "x2"\)/);
  });

  it('refuses arrays in arrays in arrays', async () => {
    let nested = array('u8', [u8(1)]);
    for (let depth = 0; depth < metadataLimits.arrayDepth; depth++) nested = array('array', [nested]);
    await expectRefusal(ggufBytes(withEntry(entry('x', 'array', nested))), /"x" nests arrays more than 4 deep/);
  });
});

describe('alignment', () => {
  const cases: [string, Parameters<typeof llamaEntries>[0], RegExp][] = [
    ['zero', { 'general.alignment': ['u32', u32(0)] }, /power of two up to 1048576, got 0/],
    ['24', { 'general.alignment': ['u32', u32(24)] }, /power of two up to 1048576, got 24/],
    ['2^31', { 'general.alignment': ['u32', u32(2 ** 31)] }, /got 2147483648/],
    ['an i32', { 'general.alignment': ['i32', u32(32)] }, /must be a u32, got i32/],
    ['a string', { 'general.alignment': ['string', text('32')] }, /must be a u32, got string/],
    ['an array', { 'general.alignment': ['array', array('u32', [u32(32)])] }, /must be a u32, got array<u32>/],
  ];
  for (const [name, changes, message] of cases) {
    it(`refuses ${name}`, async () => {
      await expectRefusal(ggufBytes({ entries: llamaEntries(changes) }), message);
    });
  }
});

describe('keys and values that make no sense', () => {
  const cases: [string, GgufBytes, RegExp][] = [
    ['an empty key', withEntry(entry('', 'string', text('x'))), /metadata key 16 has a name of 0 bytes/],
    ['a key twice', withEntry(entry('general.name', 'u8', u8(1))), /"general\.name" is there twice/],
    [
      'a key that is not UTF-8',
      withEntry(entry(Uint8Array.of(0xff), 'u8', u8(1))),
      /key 16 has a name that is not UTF-8/,
    ],
    ['a value type that does not exist', withEntry(entry('x', 13, u8(1))), /"x" has value type 13, known are 0 to 12/],
    ['a boolean of 2', withEntry(entry('x', 'bool', u8(2))), /"x" is a boolean, but holds 2/],
    [
      'an array of unequal arrays',
      withEntry(entry('x', 'array', array('array', [array('u8', []), array('u16', [])]))),
      /"x" mixes/,
    ],
  ];
  for (const [name, file, message] of cases) {
    it(`refuses ${name}`, async () => {
      await expectRefusal(ggufBytes(file), message);
    });
  }
});

describe('tensors that make no sense', () => {
  const cases: [string, TensorBytes, RegExp][] = [
    [
      'a dimension of 0',
      { name: 'extra.weight', dims: [0, 8], data: new Uint8Array(0) },
      /"extra\.weight" has the dimensions 0 x 8/,
    ],
    ['no dimensions', { name: 'extra.weight', dims: [], data: new Uint8Array(4) }, /"extra\.weight" has 0 dimensions/],
    ['five dimensions', { name: 'extra.weight', dims: [1, 1, 1, 1, 1] }, /"extra\.weight" has 5 dimensions/],
    ['4 billion dimensions', { name: 'extra.weight', dims: [1], numDims: 2 ** 32 - 1 }, /4294967295 dimensions/],
    ['an empty name', { name: '', dims: [8] }, /tensor 12 has a name of 0 bytes/],
    ['a name twice', { name: 'output.weight', dims: [8] }, /"output\.weight" is there twice/],
    ['a name that is not UTF-8', { name: Uint8Array.of(0xc3), dims: [8] }, /tensor 12 has a name that is not UTF-8/],
    [
      'columns that do not fit its blocks',
      { name: 'x', dims: [48], type: 2, data: new Uint8Array(36) },
      /"x" of type q4_0 has 48 columns, expected a multiple of 32/,
    ],
    [
      'an offset past the end',
      { name: 'x', dims: [8], offset: 2 ** 40 },
      /"x" \(f32, 8\) needs 32 bytes at offset 1099511627776/,
    ],
    ['an offset near 2^64', { name: 'x', dims: [8], offset: 2n ** 64n - 32n }, /at offset 18446744073709551584/],
    ['a misaligned offset', { name: 'x', dims: [1], offset: 4 }, /"x" starts at offset 4, expected a multiple of 32/],
    [
      'the place of another tensor',
      { name: 'x', dims: [8], offset: 0 },
      /"token_embd\.weight" .* and "x" .* overlap|"x" .* and "token_embd\.weight" .* overlap/,
    ],
    ['a place within another tensor', { name: 'x', dims: [8], offset: 32 }, /overlap/],
  ];
  for (const [name, tensor, message] of cases) {
    it(`refuses ${name}`, async () => {
      await expectRefusal(ggufBytes(withTensor(tensor)), message);
    });
  }

  it('refuses a type that it does not know, because the size is unknown', async () => {
    for (const type of [4, 5, 99, 2 ** 32 - 1]) {
      const bytes = ggufBytes(withTensor({ name: 'x', dims: [32], type }));
      await expectRefusal(bytes, new RegExp(`"x" has type number ${type}`), UnsupportedError);
    }
  });
});

describe('files that are cut short or no GGUF', () => {
  const whole = ggufBytes();

  it('refuses a file that is cut anywhere, with the size that is wanted and the one that is there', async () => {
    for (const length of [
      0,
      4,
      8,
      20,
      23,
      24,
      30,
      200,
      600,
      ggufBytes({ withData: false }).length,
      whole.length - 200,
      whole.length - 1,
    ]) {
      await expectRefusal(whole.subarray(0, length), /ends at \d+|only \d+ bytes|there are \d+ bytes/);
    }
  });

  it('refuses every length short of the whole', async () => {
    for (let length = 0; length < whole.length; length += 23) {
      await expect(readGguf(new MemoryFile(whole.subarray(0, length))), `${length} bytes`).rejects.toThrow(
        InvalidModelError,
      );
    }
  });

  it('names a wrong start', async () => {
    await expectRefusal(ggufBytes({ magic: 'GGUX' }), /not a GGUF file: it starts with the bytes 47 47 55 58/);
    await expectRefusal(new TextEncoder().encode('<!DOCTYPE html><html>'), /not a GGUF file/);
  });

  it('names a version that it does not read', async () => {
    await expectRefusal(ggufBytes({ version: 99 }), /version 99/, UnsupportedError);
    await expectRefusal(ggufBytes({ version: 1 }), /version 1;/, UnsupportedError);
    await expectRefusal(ggufBytes({ version: 0 }), /version 0;/, UnsupportedError);
  });

  it('says that a file is big endian', async () => {
    await expectRefusal(ggufBytes({ version: Uint8Array.of(0, 0, 0, 3) }), /big-endian/, UnsupportedError);
  });
});
