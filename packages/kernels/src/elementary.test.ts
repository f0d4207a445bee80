import { exp32, f16ToF32, f32ToF16, fma32, log32, tanh32 } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { supportedVariants } from './__fixtures__/backends.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { seededRandom } from './__fixtures__/random.ts';
import { loadAddon } from './load-addon.ts';

const { testing } = loadAddon();

/** Floats with evenly spread bit patterns from one value to another of the same sign: dense where floats are. */
function floatsBetween(from: number, to: number, count: number): Float32Array {
  const floats = Float32Array.of(from, to);
  const [first, last] = new Int32Array(floats.buffer);
  const bits = Int32Array.from({ length: count }, (_, i) => first! + Math.round(((last! - first!) * i) / (count - 1)));
  return new Float32Array(bits.buffer);
}

function concat(...parts: Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

const specials = Float32Array.of(0, -0, 1, -1, Number.NaN, Infinity, -Infinity, 1e-45, -1e-45, 2 ** -126);

/** Any float, NaN and denormals too. */
function anyFloats(count: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  return new Float32Array(Uint32Array.from({ length: count }, () => random() * 2 ** 32).buffer);
}

describe.each(supportedVariants)('elementary functions (%s)', (variant) => {
  it('exp', () => {
    const x = concat(
      specials,
      Float32Array.of(-87, -87.00001, 88, 88.00001, 88.7, -103, 1000, -1000),
      floatsBetween(1e-8, 88.5, 40_000),
      floatsBetween(-1e-8, -104, 40_000),
    );
    expect(firstDifference(testing.elementary(variant, 'exp', x), x.map(exp32))).toBeNull();
  });

  it('log', () => {
    const x = concat(specials, floatsBetween(1e-45, 3.4e38, 60_000), floatsBetween(0.5, 2, 40_000));
    expect(firstDifference(testing.elementary(variant, 'log', x), x.map(log32))).toBeNull();
  });

  it('tanh', () => {
    const half = concat(floatsBetween(1e-45, 3.4e38, 60_000), floatsBetween(0.6, 0.65, 20_000));
    const x = concat(
      specials,
      half,
      half.map((value) => -value),
    );
    expect(firstDifference(testing.elementary(variant, 'tanh', x), x.map(tanh32))).toBeNull();
  });

  it('silu and gelu-tanh', () => {
    const half = concat(floatsBetween(1e-45, 3.4e38, 40_000), floatsBetween(0.01, 100, 40_000));
    const x = concat(
      specials,
      half,
      half.map((value) => -value),
    );
    expect(firstDifference(testing.elementary(variant, 'silu', x), x.map(silu))).toBeNull();
    expect(firstDifference(testing.elementary(variant, 'gelu-tanh', x), x.map(geluTanh))).toBeNull();
  });

  it('sin and cos', () => {
    const x = concat(Float32Array.of(0), floatsBetween(1e-6, 1_600_000, 60_000), floatsBetween(0.1, 8, 20_000));
    const expected = [...x].map(sinCos);
    const sines = Float32Array.from(expected, ({ sin }) => sin);
    const cosines = Float32Array.from(expected, ({ cos }) => cos);
    expect(firstDifference(testing.elementary(variant, 'sin', x), sines)).toBeNull();
    expect(firstDifference(testing.elementary(variant, 'cos', x), cosines)).toBeNull();
  });

  it('fma, also where rounding twice goes wrong', () => {
    const n = 60_000;
    const [a, b, c] = [1, 2, 3].map((seed) => anyFloats(n, seed)) as [Float32Array, Float32Array, Float32Array];
    // Short significands: sums that lie halfway between two floats are common. Then a third operand tips some of them.
    const random = seededRandom(4);
    for (let i = 0; i < n / 2; i++) {
      a[i] = 1 + Math.floor(random() * 4096) / 4096;
      b[i] = (1 + Math.floor(random() * 4096) / 4096) * 2 ** Math.floor(random() * 4);
      c[i] = (random() < 0.5 ? -1 : 1) * 2 ** Math.floor(random() * 60 - 50);
    }
    // Products and sums that are denormal.
    for (let i = 0; i < 2000; i++) {
      a[i]! *= 2 ** -70;
      b[i]! *= 2 ** -70;
      c[i] = (random() - 0.5) * 2 ** -125;
    }
    const expected = a.map((_, i) => fma32(a[i]!, b[i]!, c[i]!));
    expect(firstDifference(testing.fma(variant, a, b, c), expected)).toBeNull();
  });

  it('f16 to f32, all of them', () => {
    const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
    expect(firstDifference(testing.halfToFloat(variant, halves), Float32Array.from(halves, f16ToF32))).toBeNull();
  });

  it('f32 to f16: every half, every point between two halves and its neighbours, and many others', () => {
    const points: number[] = [];
    for (let bits = 0; bits < 0x7c00; bits++) {
      const [low, high] = [f16ToF32(bits), bits === 0x7bff ? 65536 : f16ToF32(bits + 1)];
      const middle = (low + high) / 2;
      points.push(low, middle, middle * (1 - 2 ** -23), middle * (1 + 2 ** -23));
    }
    const x = concat(
      Float32Array.from(points),
      Float32Array.from(points, (p) => -p),
      anyFloats(80_000, 5),
    );
    const finite = x.filter((value) => !Number.isNaN(value)); // a NaN is refused before it is stored
    const padded = new Float32Array(Math.ceil(finite.length / 8) * 8);
    padded.set(finite);
    const got = testing.floatToHalf(variant, padded);
    expect(got.findIndex((half, i) => half !== f32ToF16(padded[i]!))).toBe(-1);
  });
});

// Definitions of docs/numerics.md, written out once more.

function silu(x: number): number {
  return Math.fround(x / Math.fround(1 + exp32(-x)));
}

function geluTanh(x: number): number {
  const z = Math.fround(x * x);
  const u = Math.fround(x * fma32(z, Math.fround(0.035677408136), Math.fround(0.797884560803)));
  return Math.fround(x / Math.fround(1 + exp32(-Math.fround(u + u))));
}

function sinCos(angle: number): { sin: number; cos: number } {
  const n = Math.floor(angle * 0.6366197723675814 + 0.5);
  let r = angle - n * 1.5707963267341256;
  r = r - n * 6.077100506303966e-11;
  r = r - n * 2.0222662487959506e-21;
  const z = r * r;
  const [S1, S2, S3, S4, S5, S6] = [
    -0.16666666666666632, 0.00833333333332249, -0.0001984126982985795, 2.7557313707070068e-6, -2.5050760253406863e-8,
    1.58969099521155e-10,
  ] as const;
  const [C1, C2, C3, C4, C5, C6] = [
    0.0416666666666666, -0.001388888888887411, 2.480158728947673e-5, -2.7557314351390663e-7, 2.087572321298175e-9,
    -1.1359647557788195e-11,
  ] as const;
  const s = r + r * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))));
  const c = 1 - 0.5 * z + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))));
  const turns = [
    [s, c],
    [c, -s],
    [-s, -c],
    [-c, s],
  ] as const;
  const [sin, cos] = turns[n % 4]!;
  return { sin: Math.fround(sin), cos: Math.fround(cos) };
}
