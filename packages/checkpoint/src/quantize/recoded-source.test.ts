import {
  AbortError,
  decodeElements,
  InvalidModelError,
  MemoryFile,
  type Quantizer,
  quantizeBlocks,
  type WeightDtype,
  type WeightSource,
  weightByteLength,
} from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { encodeElements } from '../tensor/encode.ts';
import { recodedSource } from './recoded-source.ts';
import { storageDtypes } from './storage-dtype.ts';
import { typescriptQuantizer } from './typescript-quantizer.ts';

const options = { quantizer: typescriptQuantizer };
const [rows, columns] = [6, 512];

/** Of both signs, every row another. */
function values(length = rows * columns): Float32Array {
  return Float32Array.from({ length }, (_, i) => Math.sin(i * i) * (1 + (i % 7)));
}

/** A matrix behind some bytes that are not its own. */
function sourceOf(dtype: WeightDtype, bytes: Uint8Array, fields: Partial<WeightSource> = {}): WeightSource {
  const padded = new Uint8Array(bytes.length + 16);
  padded.set(bytes, 16);
  const file = new MemoryFile(padded, 'weights.bin');
  return { name: 'w', dtype, shape: [rows, columns], file, offset: 16, byteLength: bytes.length, ...fields };
}

async function bytesOf({ file, offset, byteLength }: WeightSource): Promise<Uint8Array> {
  return file.read(offset, byteLength);
}

describe('recodedSource', () => {
  const plain = sourceOf('f32', encodeElements('f32', values()));

  it.each(storageDtypes)('%s: gives the bytes that encoding the whole gives', async (dtype) => {
    const recoded = recodedSource(plain, dtype, options);
    expect(recoded).toMatchObject({ name: 'w', dtype, shape: [rows, columns] });
    expect(recoded.byteLength).toBe(weightByteLength(dtype, rows * columns));
    expect(await bytesOf(recoded)).toEqual(encodeElements(dtype, values()));
  });

  it('passes a source on that has the type', () => {
    expect(recodedSource(plain, 'f32', options)).toBe(plain);
    const quantized = sourceOf('q4_0', quantizeBlocks('q4_0', values()));
    expect(recodedSource(quantized, 'q4_0', options)).toBe(quantized);
  });

  it('decodes what is quantized first', async () => {
    const stored = quantizeBlocks('q5_1', values());
    const recoded = recodedSource(sourceOf('q5_1', stored), 'q8_0', options);
    expect(await bytesOf(recoded)).toEqual(quantizeBlocks('q8_0', decodeElements('q5_1', stored)));
  });

  it('gives any range, and reads no rows but those it lies in', async () => {
    const recoded = recodedSource(plain, 'q4_0', options);
    const whole = await bytesOf(recoded);
    const rowBytes = weightByteLength('q4_0', columns);
    let read: [number, number][] = [];
    const file = new MemoryFile(encodeElements('f32', values()));
    const watched = recodedSource(
      {
        ...plain,
        offset: 0,
        file: {
          ...file,
          path: 'watched',
          size: file.size,
          close: () => file.close(),
          read(offset, length) {
            read.push([offset, length]);
            return file.read(offset, length);
          },
        },
      },
      'q4_0',
      options,
    );
    for (const [offset, length] of [
      [0, rowBytes],
      [rowBytes * 2, rowBytes * 3],
      [rowBytes + 5, 3],
      [rowBytes - 1, 2],
      [rowBytes * rows, 0],
    ] as const) {
      read = [];
      expect(await watched.file.read(offset, length)).toEqual(whole.subarray(offset, offset + length));
      const first = Math.floor(offset / rowBytes);
      const last = Math.ceil((offset + length) / rowBytes);
      const wanted = [[first * columns * 4, (last - first) * columns * 4]];
      expect(read).toEqual(length === 0 ? [] : wanted);
    }
  });

  it('keeps the order of rows, also of a vector, and puts columns in the order of the model', async () => {
    const rowOrder = Uint32Array.of(0, 3, 1, 4, 2, 5);
    const recoded = recodedSource({ ...plain, rowOrder }, 'q8_0', options);
    expect(recoded.rowOrder).toBe(rowOrder);
    expect(await bytesOf(recoded)).toEqual(quantizeBlocks('q8_0', values()));
    const vector = sourceOf('bf16', encodeElements('bf16', values(6)), { shape: [6], rowOrder });
    const floats = recodedSource(vector, 'f32', options);
    expect(floats).toMatchObject({ shape: [6], rowOrder, byteLength: 24 });
    expect(await bytesOf(floats)).toEqual(
      encodeElements('f32', decodeElements('bf16', encodeElements('bf16', values(6)))),
    );

    // Column i of the file is column (5 · i + 3) mod 512 of the model.
    const columnOrder = Uint32Array.from({ length: columns }, (_, i) => (5 * i + 3) % columns);
    const stored = quantizeBlocks('q8_0', values());
    const inOrder = new Float32Array(rows * columns);
    decodeElements('q8_0', stored).forEach((value, i) => {
      inOrder[columns * Math.floor(i / columns) + columnOrder[i % columns]!] = value;
    });
    const ordered = recodedSource(sourceOf('q8_0', stored, { columnOrder }), 'q4_k', options);
    expect(Object.keys(ordered)).not.toContain('columnOrder');
    expect(await bytesOf(ordered)).toEqual(quantizeBlocks('q4_k', inOrder));
  });

  it('works on a piece at a time, in order', async () => {
    // 2^16 elements a piece: 3 rows here, so 3, 3 and 1.
    const wide = { columns: 20 * 1024, rows: 7 };
    const large = values(wide.rows * wide.columns);
    const source = sourceOf('f32', encodeElements('f32', large), { shape: [wide.rows, wide.columns] });
    const lengths: number[] = [];
    const quantizer: Quantizer = {
      quantize(dtype, piece) {
        lengths.push(piece.length / wide.columns);
        return typescriptQuantizer.quantize(dtype, piece);
      },
    };
    expect(await bytesOf(recodedSource(source, 'q8_0', { quantizer }))).toEqual(quantizeBlocks('q8_0', large));
    expect(lengths).toEqual([3, 3, 1]);
  });

  it('names the weight whose values the type cannot hold', async () => {
    const huge = encodeElements('f32', new Float32Array(rows * columns).fill(1e30));
    const source = sourceOf('f32', huge);
    await expect(bytesOf(recodedSource(source, 'q4_0', options))).rejects.toThrow(InvalidModelError);
    await expect(bytesOf(recodedSource(source, 'q4_0', options))).rejects.toThrow(
      /weights\.bin: weight "w", rows 0 to 5, as q4_0: .*f16 cannot hold/,
    );
    await expect(bytesOf(recodedSource(source, 'f16', options))).rejects.toThrow(/as f16: .*too large for f16/);
    // A zero point that no AWQ or GPTQ file has.
    const damaged = new Uint8Array(weightByteLength('int4_g32', rows * columns));
    damaged[2] = 99;
    await expect(bytesOf(recodedSource(sourceOf('int4_g32', damaged), 'q8_0', options))).rejects.toThrow(
      /"w".*zero point 99/,
    );
  });

  it('stops when it is told to', async () => {
    const controller = new AbortController();
    const recoded = recodedSource(plain, 'q8_0', { ...options, signal: controller.signal });
    await recoded.file.read(0, 34);
    controller.abort();
    await expect(recoded.file.read(0, 34)).rejects.toThrow(AbortError);
  });
});

describe('typescriptQuantizer', () => {
  it('gives the bytes of quantizeBlocks, whatever the length', async () => {
    const all = values(3 * 2 ** 12 + 256);
    for (const length of [0, 256, 2 ** 12, all.length]) {
      const bytes = await typescriptQuantizer.quantize('q6_k', all.subarray(0, length));
      expect(bytes).toEqual(quantizeBlocks('q6_k', all.subarray(0, length)));
    }
  });

  it('lets others have their turn', async () => {
    let hadTurn = false;
    setImmediate(() => {
      hadTurn = true;
    });
    // Takes many times the 10 ms after which it gives way.
    await typescriptQuantizer.quantize('iq4_xs', values(2 ** 20));
    expect(hadTurn).toBe(true);
  });

  it('refuses what quantizeBlocks refuses', async () => {
    await expect(typescriptQuantizer.quantize('q8_0', Float32Array.of(1))).rejects.toThrow(/takes multiples of 32/);
  });
});
