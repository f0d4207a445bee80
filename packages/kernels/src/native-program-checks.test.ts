import type { Op, Program } from '@hearth/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBatch } from './__fixtures__/batches.ts';
import { encode, goodProgram, type NativeProgram, openNativeProgram, view } from './__fixtures__/native-program.ts';
import type { NativeExecutable } from './addon-types.ts';

// Native code checks a program again as TypeScript has checked it.

let native: NativeProgram;
beforeAll(async () => {
  native = await openNativeProgram();
});
afterAll(() => native.runtime.dispose());

type Change = (program: Program) => Program;

describe('a program', () => {
  it('that is right compiles and runs', async () => {
    const executable = native.compile(encode(goodProgram()));
    await executable.step(makeBatch([{ tokenIds: [1, 2], start: 0, blocks: [0] }]), 0, undefined, false);
    executable.dispose();
  });

  const setOp = (index: number, change: object): Change => {
    return (p) => ({ ...p, ops: p.ops.map((op, i) => (i === index ? ({ ...op, ...change } as Op) : op)) });
  };
  const wrong: [string, Change, RegExp][] = [
    ['a buffer past its arena', (p) => ({ ...p, arenaWidth: { tokens: 35, outputs: 32 } }), /does not fit/],
    ['a view of no buffer', setOp(0, { out: view(9, 16) }), /op 0: out names buffer 9/],
    ['a negative buffer', setOp(0, { out: view(-1, 16) }), /names buffer -1/],
    ['columns past a buffer', setOp(2, { out: view(1, 16, 1) }), /op 2: out takes columns 1 to 17/],
    ['a negative column', setOp(2, { out: view(1, 16, -1) }), /negative/],
    ['rows of the wrong kind', setOp(0, { out: view(3, 16) }), /op 0: out has the wrong kind of rows/],
    ['an unknown weight', setOp(0, { weight: 8 }), /There is no weight -1/],
    ['a vector for a matrix', setOp(0, { weight: 1 }), /not a complete matrix/],
    ['a matrix for a vector', setOp(2, { weight: 0 }), /not a vector/],
    ['a matrix that was never packed', setOp(8, { weights: [2] }), /weight 2 is not a complete matrix/],
    ['a matrix of another width', setOp(8, { x: view(3, 8) }), /16 columns, expected 8/],
    ['an output of another width', setOp(8, { out: view(4, 9) }), /op 8: out is 9 wide, expected 10/],
    ['a linear op without matrices', setOp(8, { weights: [], biases: [] }), /no matrix/],
    ['an output over its input', setOp(8, { x: view(0, 16), out: view(0, 10) }), /x and out overlap/],
    ['a norm that writes shifted over its input', setOp(2, { x: view(0, 8), out: view(0, 8, 4) }), /overlap/],
    ['an eps that is not finite', setOp(2, { eps: Number.NaN }), /eps/],
    ['an unknown rope', setOp(1, { rope: 1 }), /no rotary embedding 1/],
    ['a table of another width', setOp(3, { rotaryDim: 2 }), /table is 4 wide, expected 2/],
    ['more rotating dimensions than there are', setOp(3, { rotaryDim: 6 }), /cannot rotate 6/],
    ['half heads', setOp(3, { headDim: 5 }), /not whole heads/],
    ['a head size of 0', setOp(3, { headDim: 0 }), /heads of 0/],
    ['an unknown cache layer', setOp(4, { layer: 1 }), /no cache layer 1/],
    ['keys of another width', setOp(4, { k: view(1, 8) }), /k is 8 wide, expected 4/],
    ['heads that do not share', setOp(5, { numHeads: 0 }), /0 heads cannot share/],
    ['queries of another width', setOp(5, { numHeads: 4 }), /q is 8 wide, expected 16/],
    ['a scale that is not finite', setOp(5, { scale: Infinity }), /scale/],
    ['a softcap of attention below 0', setOp(5, { softcap: -1 }), /softcap is -1/],
    ['a softcap of attention that is NaN', setOp(5, { softcap: Number.NaN }), /softcap/],
    ['an unknown capture', setOp(9, { capture: 1 }), /no capture 1/],
    ['a scale of embeddings that is not finite', setOp(0, { scale: Infinity }), /scale is not finite/],
    ['a table of too few rows', setOp(10, { ids: 'tokens' }), /64 rows, expected 10/],
    ['too few positions', setOp(10, { weight: 0 }), /10 rows for 64 positions/],
    ['a layer norm of another width', setOp(11, { x: view(0, 8), out: view(1, 8) }), /not a vector of 8/],
    ['a bias that is a matrix', setOp(11, { bias: 0 }), /not a vector of 16/],
    ['an eps of a layer norm below 0', setOp(11, { eps: -1 }), /eps is -1/],
    ['half groups', setOp(12, { x: view(1, 6), out: view(0, 6) }), /not whole groups of 4/],
    ['a group norm of a matrix', setOp(12, { weight: 0 }), /not a vector/],
    ['an activation that writes shifted over its input', setOp(13, { x: view(0, 8), out: view(0, 8, 4) }), /overlap/],
    ['an activation of another width', setOp(13, { out: view(1, 8) }), /out is 8 wide, expected 16/],
    ['a cap of 0', setOp(15, { cap: 0 }), /softcap is 0/],
    ['a cap that is NaN', setOp(15, { cap: Number.NaN }), /softcap is nan/],
    ['no expert', setOp(17, { gates: [], ups: [], downs: [] }), /op 17: it has no expert/],
    ['fewer experts than logits', setOp(17, { gates: [6, 6], ups: [6, 6], downs: [7, 7] }), /3 wide, expected 2/],
    ['more experts per token than there are', setOp(17, { numExpertsPerToken: 4 }), /chooses 4 of 3 experts/],
    ['no experts per token', setOp(17, { numExpertsPerToken: 0 }), /chooses 0 of 3/],
    ['negative experts per token', setOp(17, { numExpertsPerToken: -1 }), /chooses -1 of 3/],
    ['an expert that is not there', setOp(17, { ups: [6, 6] }), /There is no weight -1/],
    ['an expert of another width', setOp(17, { ups: [6, 0, 6] }), /weight 0 has 10 rows, expected 8/],
    ['an expert that was never packed', setOp(17, { gates: [6, 2, 6] }), /weight 2 is not a complete matrix/],
    ['a down projection the wrong way round', setOp(17, { downs: [7, 7, 6] }), /16 columns, expected 8/],
    ['a mixture over its input', setOp(17, { out: view(0, 16) }), /x and out overlap/],
    [
      'a mixture over its router logits',
      setOp(17, { x: view(1, 3), routerLogits: view(0, 3), out: view(0, 3) }),
      /router logits and out overlap/,
    ],
    ['router logits of outputs', setOp(17, { routerLogits: view(4, 3) }), /router logits has the wrong kind/],
    ['logits of another width', (p) => ({ ...p, logits: view(4, 9) }), /logits is 9 wide/],
    ['hidden rows of tokens', (p) => ({ ...p, hidden: view(0, 16) }), /hidden has the wrong kind/],
    ['no vocabulary', (p) => ({ ...p, vocabSize: 0 }), /vocabulary 0/],
    ['an endless context', (p) => ({ ...p, contextLength: 2 ** 31 - 1 }), /context length/],
    [
      'angles beyond the sine',
      (p) => ({ ...p, ropes: [{ ...p.ropes[0]!, invFreq: Float32Array.of(1e6, 1) }] }),
      /angles/,
    ],
    [
      'a negative frequency',
      (p) => ({ ...p, ropes: [{ ...p.ropes[0]!, invFreq: Float32Array.of(-1, 1) }] }),
      /frequency/,
    ],
    ['a layer without heads', (p) => ({ ...p, cacheLayers: [{ numKvHeads: 0, headDim: 4, group: 0 }] }), /0 heads/],
    ['giant heads', (p) => ({ ...p, cacheLayers: [{ numKvHeads: 1, headDim: 2 ** 30, group: 0 }] }), /dimensions/],
    ['a layer of no group', (p) => ({ ...p, cacheLayers: [{ numKvHeads: 1, headDim: 4, group: 1 }] }), /group 1 of 1/],
  ];
  it.each(wrong)('with %s is refused', (_, change, message) => {
    expect(() => native.compile(encode(change(goodProgram())))).toThrow(message);
  });

  it('that is cut short anywhere, or goes on, is refused', () => {
    const words = encode(goodProgram());
    for (let length = 0; length < words.length; length++) {
      expect(() => native.compile(words.slice(0, length)), `${length} words`).toThrow(/words|ops/);
    }
    expect(() => native.compile(Int32Array.of(...words, 0))).toThrow(/goes on/);
  });

  it('with any one word changed is refused or harmless', async () => {
    // Every word set to values that tend to break things; whatever compiles must also run or fail in order.
    const words = encode(goodProgram());
    const batch = makeBatch([{ tokenIds: [1, 2, 3], start: 5, blocks: [1] }]);
    for (let at = 0; at < words.length; at++) {
      for (const value of [-1, 0, 1, 3, 17, 2 ** 31 - 1, -(2 ** 31)]) {
        const changed = words.slice();
        changed[at] = value;
        let executable: NativeExecutable;
        try {
          executable = native.compile(changed);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid_argument|limit_exceeded)$/) });
          continue;
        }
        try {
          await executable.step(batch, 0, undefined, false);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid_argument|numeric)$/) });
        }
        executable.dispose();
      }
    }
  });

  it('is refused in another encoding', () => {
    const words = encode(goodProgram());
    words[0] = 99;
    expect(() => native.compile(words)).toThrow(/version 99.*pnpm build:native/);
  });

  it('is refused with options out of range', () => {
    const words = encode(goodProgram());
    expect(() => native.compile(words, 0)).toThrow(/maxTokens/);
    expect(() => native.compile(words, 8, 0)).toThrow(/maxOutputRows/);
    expect(() => native.compile(words, 8, 4, Int32Array.of(3, 16, 4))).toThrow(/cache type 3/);
    expect(() => native.compile(words, 8, 4, Int32Array.of(1, 24, 4))).toThrow(/block size/);
    expect(() => native.compile(words, 8, 4, Int32Array.of(1, 16, 0))).toThrow(/at least one block/);
    expect(() => native.compile(words, 8, 4, Int32Array.of(1, 16))).toThrow(/3 entries/);
  });
});
