import type { Op, View } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { awkwardSizes } from './__fixtures__/bits.ts';
import { awkwardFloats, expectSame, vector, view } from './__fixtures__/compare-ops.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';

// The ops over single rows that families beyond Llama need, in every variant against the reference, bit for bit.

const rowCounts = [1, 2, 3, 17];

describe.each(awkwardSizes)('rows of %i', (width) => {
  it('layer-norm, into other columns', async () => {
    for (const rows of rowCounts) {
      await expectSame({
        input: awkwardFloats(rows * (width + 3), width + rows),
        inputWidth: width + 3,
        buffers: [width + 1],
        weights: [vector(randomFloats(seededRandom(1), width)), vector(randomFloats(seededRandom(2), width))],
        ops: [
          copyOp(view(0, 0, width), view(1, 0, width)),
          copyOp(view(0, 0, 1), view(1, width, 1)),
          {
            kind: 'layer-norm',
            name: 'norm',
            x: view(0, 3, width),
            weight: 0,
            bias: 1,
            eps: 1e-5,
            out: view(1, 1, width),
          },
        ],
      });
    }
  });

  it('layer-norm of rows of one large value', async () => {
    // Lanes past the row must not take part: −mean · r overflows there, while each difference is 0.
    const result = await expectSame({
      input: new Float32Array(2 * width).fill(2 ** 55),
      inputWidth: width,
      buffers: [width],
      weights: [vector(new Float32Array(width).fill(1)), vector(new Float32Array(width).fill(0.5))],
      ops: [
        {
          kind: 'layer-norm',
          name: 'norm',
          x: view(0, 0, width),
          weight: 0,
          bias: 1,
          eps: 2 ** -149,
          out: view(1, 0, width),
        },
      ],
    });
    expect(result).toEqual(new Float32Array(2 * width).fill(0.5));
  });

  it('rms-norm of groups', async () => {
    for (const groups of [1, 2, 5]) {
      const all = groups * width;
      await expectSame({
        input: awkwardFloats(3 * (all + 1), width + groups),
        inputWidth: all + 1,
        buffers: [all],
        weights: [vector(randomFloats(seededRandom(2), width))],
        ops: [{ kind: 'rms-norm', name: 'norm', x: view(0, 1, all), weight: 0, eps: 1e-6, out: view(1, 0, all) }],
      });
    }
  });

  it.each(['silu', 'gelu-tanh'] as const)('%s, alone and gated, in place and elsewhere', async (activation) => {
    const [gate, up] = [view(1, 1, width), view(0, width, width)];
    for (const rows of rowCounts) {
      const spec = {
        input: awkwardFloats(rows * 2 * width, 2 * width + rows),
        inputWidth: 2 * width,
        buffers: [width + 1],
      };
      const fill = [copyOp(view(0, 0, width), gate), copyOp(view(0, 0, 1), view(1, 0, 1))];
      const alone: Op = { kind: 'activation', name: 'act', activation, x: up, out: gate };
      const gated: Op = {
        kind: 'gated-activation',
        name: 'gated',
        activation,
        gate: up,
        up: view(0, 0, width),
        out: gate,
      };
      await expectSame({ ...spec, ops: [...fill, alone] });
      await expectSame({ ...spec, ops: [...fill, { ...alone, x: gate }] });
      await expectSame({ ...spec, ops: [...fill, gated] });
      await expectSame({ ...spec, ops: [...fill, { ...gated, gate, up }] });
    }
  });

  it('softcap, in place', async () => {
    for (const cap of [30, 0.01]) {
      const result = await expectSame({
        input: awkwardFloats(3 * (width + 2), 3 * width),
        inputWidth: width + 2,
        ops: [{ kind: 'softcap', name: 'cap', x: view(0, 1, width), cap }],
      });
      const capped = result.filter((_, i) => i % (width + 2) > 0 && i % (width + 2) <= width);
      expect(capped.every((value) => Math.abs(value) <= Math.fround(cap))).toBe(true);
    }
  });

  it('embed with a scale', async () => {
    await expectSame({
      input: awkwardFloats(5 * width, 4 * width),
      inputWidth: width,
      buffers: [width],
      weights: [{ role: 'matrix', shape: [5, width], values: awkwardFloats(5 * width, width), dtype: 'f16' }],
      ops: [{ kind: 'embed', name: 'embed', weight: 0, ids: 'tokens', scale: Math.sqrt(640), out: view(1, 0, width) }],
    });
  });

  it('embed by position', async () => {
    const positions = randomFloats(seededRandom(width), 40 * width);
    const result = await expectSame({
      input: new Float32Array(3 * width),
      inputWidth: width,
      buffers: [width],
      start: 30,
      frame: { contextLength: 33 },
      weights: [{ role: 'matrix', shape: [40, width], values: positions }],
      ops: [{ kind: 'embed', name: 'embed', weight: 0, ids: 'positions', scale: 1, out: view(1, 0, width) }],
    });
    expect(result).toEqual(positions.slice(30 * width, 33 * width));
  });
});

/** x · silu(x): something in other columns, from what there is. */
function copyOp(x: View, out: View): Op {
  return { kind: 'gated-activation', activation: 'silu', name: 'copy', gate: x, up: x, out };
}
