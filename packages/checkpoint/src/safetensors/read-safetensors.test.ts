import { AbortError, type HearthError, InvalidModelError, MemoryFile, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { concat, counting, f32 } from '../__fixtures__/gguf-bytes.ts';
import { safetensorsBytes } from '../__fixtures__/safetensors-bytes.ts';
import { safetensorsDtypeBits } from './dtypes.ts';
import { readSafetensors } from './read-safetensors.ts';

const read = (bytes: Uint8Array) => readSafetensors(new MemoryFile(bytes, 'model.safetensors'));

/** Two tensors over 24 bytes: a [2, 2] and b [2]. */
const a = { dtype: 'F32', shape: [2, 2], data_offsets: [0, 16] };
const b = { dtype: 'F32', shape: [2], data_offsets: [16, 24] };
const data = counting(6);

async function expectRefusal(
  bytes: Uint8Array,
  message: RegExp,
  type: typeof InvalidModelError | typeof UnsupportedError = InvalidModelError,
): Promise<void> {
  const error = await read(bytes).then(
    () => expect.fail('the file was read'),
    (reason: unknown) => reason as HearthError,
  );
  expect(error).toBeInstanceOf(type);
  expect(error.message).toMatch(message);
  expect(error.message).toContain('model.safetensors');
}

describe('readSafetensors', () => {
  it('reads names, dtypes, shapes, places and notes', async () => {
    const bytes = safetensorsBytes({ __metadata__: { format: 'pt' }, a, b }, data);
    const header = await read(bytes);
    expect(Object.fromEntries(header.metadata)).toEqual({ format: 'pt' });
    expect(header.tensors).toEqual([
      { name: 'a', dtype: 'f32', shape: [2, 2], offset: header.dataOffset, byteLength: 16 },
      { name: 'b', dtype: 'f32', shape: [2], offset: header.dataOffset + 16, byteLength: 8 },
    ]);
    expect(bytes.subarray(header.dataOffset)).toEqual(data);
    expect(header.headerHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('takes any order of tensors and fields, white space, escapes, and names of any script', async () => {
    const text =
      ' { "\\u96ea \\"x\\"" : { "data_offsets":[16 , 24],"shape":[ 2 ],\n\t"dtype":"F32" } , "é": {"dtype":"F32","shape":[2,2],"data_offsets":[0,16]} }   ';
    const { tensors } = await read(safetensorsBytes(text, data));
    expect(tensors.map((tensor) => tensor.name)).toEqual(['雪 "x"', 'é']);
  });

  it('takes scalars, tensors without elements, and a file without tensors', async () => {
    const scalar = { dtype: 'F32', shape: [], data_offsets: [0, 4] };
    const empty = { dtype: 'F32', shape: [0, 7], data_offsets: [0, 0] };
    const { tensors } = await read(safetensorsBytes({ scalar, empty }, f32(1)));
    expect(tensors.map((tensor) => tensor.byteLength)).toEqual([4, 0]);
    expect((await read(safetensorsBytes({}))).tensors).toEqual([]);
    expect((await read(safetensorsBytes({ __metadata__: {} }))).metadata.size).toBe(0);
  });

  it('knows every dtype and its size', async () => {
    for (const [dtype, bits] of safetensorsDtypeBits) {
      const x = { dtype, shape: [3, 8], data_offsets: [0, 3 * bits] };
      const { tensors } = await read(safetensorsBytes({ x }, new Uint8Array(3 * bits)));
      expect(tensors[0]).toMatchObject({ dtype: dtype.toLowerCase(), byteLength: 3 * bits });
    }
  });

  it('reads keys that JavaScript objects have by themselves', async () => {
    const text = `{"__proto__":${JSON.stringify(a)},"constructor":${JSON.stringify(b)}}`;
    const { tensors } = await read(safetensorsBytes(text, data));
    expect(tensors.map((tensor) => tensor.name)).toEqual(['__proto__', 'constructor']);
  });

  it('stops when its signal fires', async () => {
    const file = new MemoryFile(safetensorsBytes({ a, b }, data));
    await expect(readSafetensors(file, { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
  });
});

describe('the header length', () => {
  const text = JSON.stringify({ a, b });
  const cases: [string, Uint8Array, RegExp][] = [
    ['2^63', safetensorsBytes(text, data, 2n ** 63n), /header length is 9223372036854775808 bytes, but only/],
    ['2^64 − 1, which is −1 elsewhere', safetensorsBytes(text, data, 2n ** 64n - 1n), /18446744073709551615/],
    ['past the end', safetensorsBytes(text, data, 10_000), /10000 bytes, but only \d+ follow/],
    ['zero', safetensorsBytes(text, data, 0), /should have "\{" at byte 0/],
    ['short of the header', safetensorsBytes(text, data, text.length - 1), /should have "\}"|ends/],
    [
      'one longer than the header',
      safetensorsBytes(text, data, text.length + 1),
      /tensor "b" has data_offsets \[16, 24\].* 23, the bytes/,
    ],
    [
      'above the limit of the format',
      concat(safetensorsBytes('', new Uint8Array(100_000_001), 100_000_001)),
      /the format allows 100000000/,
    ],
    ['missing', new Uint8Array(7), /it has 7 bytes/],
    ['of an empty file', new Uint8Array(0), /it has 0 bytes/],
  ];
  for (const [name, bytes, message] of cases) {
    it(`is refused when it is ${name}`, async () => expectRefusal(bytes, message));
  }
});

describe('the header text', () => {
  const tensor = JSON.stringify(a);
  const cases: [string, string, RegExp][] = [
    ['no JSON', '{'.repeat(64), /at byte 1 \(a tensor name\)/],
    ['an array', '[1,2,3] ', /should have "\{" at byte 0/],
    ['a trailing comma', `{"a":${tensor},}`, /a tensor name/],
    ['something after the object', `{"a":${tensor}}{}`, /should have the end/],
    ['a string without end', '{"a', /ends inside a string/],
    ['a control character in a name', '{"a\n":1}', /control characters/],
    ['an invalid escape', '{"\\x":1}', /invalid escape/],
    ['a name twice', `{"a":${tensor},"a":${tensor}}`, /tensor "a" is there twice/],
    ['a name twice, once escaped', `{"a":${tensor},"\\u0061":${tensor}}`, /tensor "a" is there twice/],
    ['an empty name', `{"":${tensor}}`, /empty name/],
    ['a very long name', `{"${'x'.repeat(5000)}":${tensor}}`, /string of 5000 bytes/],
    ['notes twice', '{"__metadata__":{},"__metadata__":{}}', /"__metadata__" is there twice/],
    ['a note that is no string', '{"__metadata__":{"a":1}}', /the value of "a" in __metadata__/],
    ['a key of notes twice', '{"__metadata__":{"a":"1","a":"2"}}', /key "a" of __metadata__ is there twice/],
    ['a tensor that is no object', '{"a":[]}', /should have "\{" .* \(tensor "a"\)/],
    ['a field twice', '{"a":{"dtype":"F32","dtype":"F16"}}', /second or unknown field "dtype"/],
    ['an unknown field', '{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4],"scale":2}}', /unknown field "scale"/],
    ['a missing field', '{"a":{"dtype":"F32","shape":[1]}}', /must have dtype, shape and data_offsets/],
  ];
  for (const [name, text, message] of cases) {
    it(`is refused when it has ${name}`, async () => expectRefusal(safetensorsBytes(text, data), message));
  }

  it('is refused when it is not UTF-8', async () => {
    const bytes = safetensorsBytes('{"x":1}', data);
    bytes[10] = 0xff;
    await expectRefusal(bytes, /not UTF-8/);
  });

  it('is refused when it nests without end, without recursion', async () => {
    await expectRefusal(safetensorsBytes(`{"a":${'['.repeat(1_000_000)}`), /tensor "a"/);
    await expectRefusal(safetensorsBytes('{"a":'.repeat(100_000)), /tensor "a"/);
  });
});

describe('a tensor entry', () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['one offset', { data_offsets: [0] }, /data_offsets \[0\], expected \[begin, end\]/],
    ['three offsets', { data_offsets: [0, 16, 24] }, /more than 2 entries/],
    ['reversed offsets', { data_offsets: [16, 0] }, /data_offsets \[16, 0\]/],
    ['a negative offset', { data_offsets: [-4, 12] }, /whole number without sign/],
    ['an offset past the end', { data_offsets: [0, 1e12] }, /data_offsets \[0, 1000000000000\].*24/],
    ['a fraction', { data_offsets: [0, 16.5] }, /whole number without sign/],
    ['strings', { data_offsets: ['0', '16'] }, /whole number without sign/],
    [
      'a shape with more elements than bytes',
      { shape: [200, 2] },
      /\[200, 2\], which is 1600 bytes, but data_offsets \[0, 16\] give it 16/,
    ],
    ['a shape with fewer elements than bytes', { shape: [1, 2] }, /which is 8 bytes/],
    ['a shape whose product wraps', { shape: [2 ** 32, 2 ** 32] }, /which is 73786976294838206464 bytes/],
    ['a negative shape', { shape: [-2, -2] }, /whole number without sign/],
    ['a shape of zero with bytes', { shape: [0, 2] }, /which is 0 bytes/],
    ['65 dimensions', { shape: new Array(65).fill(1) }, /more than 64 entries/],
    ['a dtype of another size', { dtype: 'F16' }, /dtype F16/],
  ];
  for (const [name, change, message] of cases) {
    it(`is refused when it has ${name}`, async () => {
      await expectRefusal(safetensorsBytes({ a: { ...a, ...change }, b }, data), message);
    });
  }

  it('is refused for numbers that JSON or JavaScript would bend', async () => {
    for (const number of ['1e1', '0x10', '016', '+16', '16.', 'NaN', 'null', '']) {
      const text = `{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,${number}]}}`;
      await expectRefusal(safetensorsBytes(text, data), /data_offsets of tensor "a"/);
    }
    const large = '{"a":{"dtype":"F32","shape":[9007199254740993],"data_offsets":[0,16]}}';
    await expectRefusal(safetensorsBytes(large, data), /above 2\^53/);
  });

  it('is refused by name for a dtype that is not known', async () => {
    await expectRefusal(
      safetensorsBytes({ a: { ...a, dtype: 'Q9' }, b }, data),
      /tensor "a" has dtype "Q9"/,
      UnsupportedError,
    );
    await expectRefusal(safetensorsBytes({ a: { ...a, dtype: 'f32' }, b }, data), /dtype "f32"/, UnsupportedError);
  });
});

describe('the data', () => {
  it('is refused when it is cut short', async () => {
    await expectRefusal(
      safetensorsBytes({ a, b }, data.subarray(0, 23)),
      /tensor "b" has data_offsets \[16, 24\].* 23, the bytes/,
    );
  });

  it('is refused when something is appended', async () => {
    await expectRefusal(
      safetensorsBytes({ a, b }, concat(data, new Uint8Array(1))),
      /25 bytes of data, but its tensors take 24/,
    );
  });

  it('is refused when tensors overlap or leave a gap', async () => {
    const overlapping = { a, b: { ...b, data_offsets: [12, 20] } };
    await expectRefusal(
      safetensorsBytes(overlapping, data.subarray(0, 20)),
      /tensor "b" starts at byte 12 .* end at 16/,
    );
    const apart = { a, b: { ...b, data_offsets: [20, 28] } };
    await expectRefusal(
      safetensorsBytes(apart, concat(data, new Uint8Array(4))),
      /tensor "b" starts at byte 20 .* end at 16/,
    );
    const same = { a, c: a };
    await expectRefusal(safetensorsBytes(same, data.subarray(0, 16)), /starts at byte 0 .* end at 16/);
    const late = { b: { ...b, data_offsets: [4, 12] } };
    await expectRefusal(safetensorsBytes(late, data.subarray(0, 12)), /tensor "b" starts at byte 4/);
  });
});
