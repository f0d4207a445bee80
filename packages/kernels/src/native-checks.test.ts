import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Batch } from '@hearth/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBatch } from './__fixtures__/batches.ts';
import {
  cacheOptions,
  encode,
  f32,
  goodProgram,
  type NativeProgram,
  openNativeProgram,
} from './__fixtures__/native-program.ts';
import type { NativeExecutable } from './addon-types.ts';
import { encodeRowOutputs } from './encode-row-outputs.ts';

// Native code checks again what TypeScript has checked. Here it is called past TypeScript's checks.

let native: NativeProgram;
beforeAll(async () => {
  native = await openNativeProgram();
});
afterAll(() => native.runtime.dispose());

describe('a batch', () => {
  let executable: NativeExecutable;
  beforeAll(() => {
    executable = native.compile(encode(goodProgram()));
  });
  afterAll(() => executable.dispose());

  const good: Batch = makeBatch([
    { tokenIds: [1, 2, 3], start: 4, blocks: [0] },
    { tokenIds: [9], start: 20, blocks: [1, 2] },
  ]);
  const wrong: [string, object, RegExp][] = [
    ['no tokens', { tokenIds: new Int32Array(0) }, /0 tokens/],
    ['too many tokens', { tokenIds: new Int32Array(9) }, /9 tokens/],
    ['a token id past the vocabulary', { tokenIds: Int32Array.of(1, 2, 10, 9) }, /token id 10/],
    ['a negative token id', { tokenIds: Int32Array.of(1, -2, 3, 9) }, /token id -2/],
    ['a position too far', { positions: Int32Array.of(4, 5, 7, 20) }, /position 7, expected 6/],
    ['too few positions', { positions: Int32Array.of(4, 5, 6) }, /3 entries/],
    ['cuSeqlensQ out of order', { cuSeqlensQ: Int32Array.of(0, 5, 4) }, /cuSeqlensQ/],
    ['cuSeqlensQ that is short', { cuSeqlensQ: Int32Array.of(0, 4) }, /2 entries/],
    ['a context past the limit', { contextLens: Int32Array.of(7, 65) }, /context of 65/],
    ['a context of 0', { contextLens: Int32Array.of(0, 21) }, /context of 0/],
    ['a negative context', { contextLens: Int32Array.of(7, -5) }, /context of -5/],
    ['no block table', { blockTables: [] }, /0 block tables/],
    ['a block past the cache', { blockTables: [{ blocks: Int32Array.of(0, -1, 1, 4), maxBlocks: 2 }] }, /block 4/],
    ['a negative block', { blockTables: [{ blocks: Int32Array.of(-1, -1, 1, 2), maxBlocks: 2 }] }, /block -1/],
    ['a table with a row missing', { blockTables: [{ blocks: Int32Array.of(0, 1), maxBlocks: 2 }] }, /block table 0/],
    ['a table that is too narrow', { blockTables: [{ blocks: Int32Array.of(0, 1), maxBlocks: 1 }] }, /block table 0/],
    ['a table of huge width', { blockTables: [{ blocks: Int32Array.of(0, 1), maxBlocks: 2 ** 52 }] }, /block table 0/],
    ['an output row past the tokens', { outputRows: Int32Array.of(4) }, /outputRows/],
    ['output rows out of order', { outputRows: Int32Array.of(3, 1) }, /outputRows/],
    ['too many output rows', { outputRows: new Int32Array(5) }, /5 output rows/],
    ['floats for ids', { tokenIds: new Float32Array(4) }, /tokenIds must be an Int32Array/],
    ['a list for positions', { positions: [4, 5, 6, 20] }, /positions must be an Int32Array/],
    ['tables that are no list', { blockTables: 5 }, /blockTables must be an array/],
    ['a table that is no object', { blockTables: [null] }, /Block table 0 must be an object/],
  ];
  it.each(wrong)('with %s is refused', (_, change, message) => {
    expect(() => executable.step({ ...good, ...change } as Batch, 0, undefined, false)).toThrow(message);
  });

  it('that is right runs after all of them', async () => {
    await executable.step(good, 0, undefined, false);
  });

  it('has the clock read only when a profile is asked for', async () => {
    const other = native.compile(encode(goodProgram()));
    await other.step(good, 0, undefined, false);
    expect(other.opNanoseconds().every((nanoseconds) => nanoseconds === 0)).toBe(true);
    await other.step(good, 0, undefined, true);
    const measured = other.opNanoseconds();
    expect(measured.every((nanoseconds) => nanoseconds > 0)).toBe(true);
    await other.step(good, 0, undefined, false);
    expect(other.opNanoseconds()).toEqual(measured);
    other.dispose();
  });

  it('whose getters throw, or step, is refused', async () => {
    const throwing = Object.defineProperty({ ...good }, 'positions', {
      get: () => {
        throw new RangeError('from a getter');
      },
    });
    expect(() => executable.step(throwing, 0, undefined, false)).toThrow('from a getter');
    const stepping = Object.defineProperty({ ...good }, 'positions', {
      get: () => {
        expect(() => executable.step(good, 0, undefined, false)).toThrow(/A step is running/);
        return good.positions;
      },
    });
    await executable.step(stepping, 0, undefined, false);
  });

  it('with an unknown output, or with rows that do not fit it, is refused', () => {
    const logprobs = (...tokenIds: number[]) => {
      return encodeRowOutputs(
        tokenIds.map((tokenId) => ({ kind: 'logprob', tokenId }) as const),
        10,
      );
    };
    expect(() => executable.step(good, 4, undefined, false)).toThrow(/no output kind 4/);
    expect(() => executable.step(good, 2, undefined, false)).toThrow(/rows must be an object/);
    expect(() => executable.step(good, 2, logprobs(1), false)).toThrow(/18 numbers for 2 output rows/);
    expect(() => executable.step(good, 2, logprobs(1, 10), false)).toThrow(/tokenId of output row 1 must be 0 to 9/);
    const hiddenFirst = encodeRowOutputs([{ kind: 'hidden' }, { kind: 'logits' }], 10);
    expect(() => executable.step(good, 2, hiddenFirst, false)).toThrow(/hidden must come last, but row 1/);
    const unknown = encodeRowOutputs([{ kind: 'logits' }, { kind: 'hidden' }], 10);
    unknown.numbers[18] = 4;
    expect(() => executable.step(good, 2, unknown, false)).toThrow(/kind of output row 1 must be 0 to 3/);
  });
});

describe('weights', () => {
  it('refuse sizes, rows and bytes that do not belong', async () => {
    const mine = native.runtime.createWeights();
    expect(() => mine.addMatrix(99, 8, 8, undefined, undefined)).toThrow(/no dtype 99/);
    expect(() => mine.addMatrix(f32, 0, 8, undefined, undefined)).toThrow(/0 x 8/);
    expect(() => mine.addMatrix(f32, 2 ** 31, 8, undefined, undefined)).toThrow(/outside the limits/);
    expect(() => mine.addMatrix(f32, 2 ** 30, 2 ** 30, undefined, undefined)).toThrow(/no machine has|no memory/);
    expect(() => mine.addMatrix(4, 8, 33, undefined, undefined)).toThrow(/multiple of 32/);
    expect(() => mine.addMatrix(f32, 2, 2, Uint32Array.of(0, 0), undefined)).toThrow(/row order/);
    expect(() => mine.addMatrix(f32, 2, 2, Uint32Array.of(0, 2), undefined)).toThrow(/row order/);
    expect(() => mine.addMatrix(f32, 2, 2, Uint32Array.of(0), undefined)).toThrow(/1 entries for 2/);
    expect(() => mine.addMatrix(f32, 2, 2, undefined, Uint32Array.of(0, 1))).toThrow(
      /f32 matrix cannot have a column order/,
    );
    expect(() => mine.addMatrix(3, 2, 32, undefined, new Uint32Array(32))).toThrow(/column order names column 0 at 1/);
    expect(() => mine.addMatrix(3, 2, 32, undefined, new Uint32Array(31))).toThrow(/31 entries for 32 columns/);
    expect(() => mine.addMatrix(3, 2, 32, undefined, [] as never)).toThrow(/columnOrder must be a Uint32Array/);
    expect(() => mine.addMatrix(11, 8, 128, undefined, undefined)).toThrow(/multiple of 256/);
    expect(() => mine.addVector(new Float32Array(0))).toThrow(/0 elements/);
    expect(mine.addMatrix(f32, 4, 2, undefined, undefined)).toBe(0);
    await expect(mine.packBytes(0, new Uint8Array(16), 1, 2)).rejects.toThrow(/cannot be packed after 0 of 4/);
    await expect(mine.packBytes(0, new Uint8Array(40), 0, 5)).rejects.toThrow(/cannot be packed/);
    await expect(mine.packBytes(0, new Uint8Array(15), 0, 2)).rejects.toThrow(/take 16 bytes, got 15/);
    await expect(mine.packBytes(1, new Uint8Array(16), 0, 2)).rejects.toThrow(/no weight 1/);
    mine.dispose();
    expect(() => mine.addVector(new Float32Array(1))).toThrow(/disposed/);
  });

  it('are not touched while rows are packed', async () => {
    const mine = native.runtime.createWeights();
    mine.addMatrix(f32, 8, 8, undefined, undefined);
    const packing = mine.packBytes(0, new Uint8Array(256), 0, 8);
    expect(() => mine.addVector(new Float32Array(1))).toThrow(/still being packed/);
    expect(() => native.runtime.compile(mine, new Int32Array(1), 1, 1, cacheOptions)).toThrow(/still being packed/);
    mine.dispose(); // the job keeps what it needs
    await packing;
  });

  it('of a packed file refuse ranges, sizes and places that cannot be', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'hearth-checks-'));
    const path = join(directory, 'file');
    await writeFile(path, new Uint8Array(1024));
    const [mapped, read] = await Promise.all([true, false].map((map) => native.runtime.openFile(path, map)));
    for (const file of [mapped!, read!]) {
      const mine = native.runtime.createWeights();
      const add = (rows: number, offset: number, dtype = f32) =>
        mine.addPackedMatrix(dtype, rows, 8, undefined, file, offset);
      expect(() => add(8, 0, 99)).toThrow(/no dtype 99/);
      expect(() => add(8, 832)).toThrow(/has 1024 bytes, but 256 bytes from 832/);
      expect(() => add(8, -64)).toThrow(/cut short or damaged/);
      expect(() => add(2 ** 30, 0)).toThrow(/cut short or damaged/);
      expect(() => add(8, 32)).toThrow(/no multiple of 64/);
      expect(() => mine.addPackedMatrix(3, 8, 32, new Uint32Array(31), file, 0)).toThrow(/31 entries for 32 columns/);
      expect(() => mine.addPackedMatrix(f32, 8, 8, undefined, {} as never, 0)).toThrow(/not what this addon made/);
      expect(add(8, 768)).toBe(0);
      await expect(mine.packBytes(0, new Uint8Array(256), 0, 8)).rejects.toThrow(/packed already/);
      await expect(mine.loadPacked(0, 2)).rejects.toThrow(/no 2 weights|no weight 1/);
      await expect(mine.loadPacked(-1, 1)).rejects.toThrow(/no weight -1/);
      expect(() => mine.writePacked(join(directory, 'new'), [0], 256)).toThrow(/not complete/);
      await mine.loadPacked(0, 1);
      const write = (offsets: readonly number[], bytes: number) =>
        mine.writePacked(join(directory, 'new'), offsets, bytes);
      expect(() => write([], 256)).toThrow(/0 offsets for 1 weights/);
      expect(() => write([0], 255)).toThrow(/cannot lie at 0/);
      expect(() => write([32], 1024)).toThrow(/cannot lie at 32/);
      expect(() => write([-64], 1024)).toThrow(/cannot lie at -64/);
      expect(() => write([2 ** 53], 1024)).toThrow(/cannot lie/);
      expect(() => write([Number.NaN], 1024)).toThrow(/whole number/);
      await expect(mine.writePacked(path, [0], 256)).rejects.toThrow(/Cannot make .*exists/);
      await expect(mine.writePacked(join(directory, 'none', 'x'), [0], 256)).rejects.toThrow(/No such file/);
      mine.dispose();
    }
    mapped!.close();
    read!.close();
    await rm(directory, { recursive: true });
  });

  it('that are written to a file are not added to meanwhile, but compiled', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'hearth-checks-'));
    const mine = native.runtime.createWeights();
    mine.addVector(new Float32Array(8));
    const writing = mine.writePacked(join(directory, 'new'), [64], 96);
    expect(() => mine.addVector(new Float32Array(1))).toThrow(/being written/);
    expect(() => native.runtime.compile(mine, new Int32Array(1), 1, 1, cacheOptions)).not.toThrow(/being/);
    await writing;
    expect((await readFile(join(directory, 'new'))).length).toBe(96);
    mine.addVector(new Float32Array(1));
    await rm(directory, { recursive: true });
  });

  it('are not mistaken for other objects', () => {
    const words = encode(goodProgram());
    for (const stranger of [{}, native.runtime, null, 5, new Float32Array(2)]) {
      expect(() => native.runtime.compile(stranger as never, words, 8, 4, cacheOptions)).toThrow(
        /not what this addon made/,
      );
    }
    const { step } = native.compile(words);
    expect(() => step.call({} as never, {} as Batch, 0, undefined, false)).toThrow();
  });
});
