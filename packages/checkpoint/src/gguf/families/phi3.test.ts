import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import type { FamilyChanges } from '../../__fixtures__/family-bytes.ts';
import { concat, f32 } from '../../__fixtures__/gguf-bytes.ts';
import { configOf, expectRefusal, f32Key, textKey, u32Key } from '../../__fixtures__/open-family.ts';

describe('phi3', () => {
  const factors = (...values: number[]) => ({ dims: [values.length], data: concat(...values.map(f32)) });
  const longrope = [
    { name: 'rope_factors_long.weight', ...factors(1.5, 40.1) },
    { name: 'rope_factors_short.weight', ...factors(1, 1.1) },
  ];
  const original = { '.rope.scaling.original_context_length': u32Key(16) };
  // sqrt(1 + ln(64 / 16) / ln(16))
  const attnFactor = Math.sqrt(1.5);

  it('reads longrope from its tensors, as shortest decimals', async () => {
    const keys = { ...original, '.rope.scaling.attn_factor': f32Key(attnFactor) };
    expect(await configOf('phi3', keys, { moreTensors: longrope })).toMatchObject({
      rope_scaling: { type: 'longrope', short_factor: [1, 1.1], long_factor: [1.5, 40.1] },
      original_max_position_embeddings: 16,
    });
    const other = await configOf(
      'phi3',
      { ...original, '.rope.scaling.attn_factor': f32Key(1.25) },
      { moreTensors: longrope },
    );
    expect(other.rope_scaling).toMatchObject({ attention_factor: 1.25 });
  });

  it('rotates a part of each head', async () => {
    expect((await configOf('phi3', { '.rope.dimension_count': u32Key(2) })).partial_rotary_factor).toBe(0.5);
    expect(await configOf('phi3', { '.rope.dimension_count': u32Key(4) })).not.toHaveProperty('partial_rotary_factor');
    for (const value of [0, 3, 6]) {
      await expectRefusal(
        'phi3',
        { keys: { '.rope.dimension_count': u32Key(value) } },
        /rope\.dimension_count" (is 3|must be)/,
        InvalidModelError,
      );
    }
  });

  it('knows the window of the models with 4096 positions, whose first files do not say it', async () => {
    const context = { '.context_length': u32Key(4096) };
    expect((await configOf('phi3')).sliding_window).toBeNull();
    expect((await configOf('phi3', context)).sliding_window).toBe(2047);
    expect((await configOf('phi3', { ...context, '.attention.sliding_window': u32Key(0) })).sliding_window).toBeNull();
    expect((await configOf('phi3', { '.attention.sliding_window': u32Key(32) })).sliding_window).toBe(32);
  });

  it('is refused for halves of longrope, and for other scaling', async () => {
    const refuse = (
      changes: FamilyChanges,
      message: RegExp,
      type: typeof InvalidModelError | typeof UnsupportedError = InvalidModelError,
    ) => expectRefusal('phi3', changes, message, type);
    await refuse({ keys: original, moreTensors: longrope.slice(1) }, /"rope_factors_long\.weight" is missing/);
    await refuse({ keys: original, moreTensors: longrope.slice(0, 1) }, /"rope_factors_short\.weight" is missing/);
    await refuse({ moreTensors: longrope }, /original_context_length" is missing/);
    await refuse({ keys: { '.rope.scaling.type': textKey('longrope') } }, /are missing/);
    await refuse({ keys: { '.rope.scaling.type': textKey('yarn') } }, /is "yarn"/, UnsupportedError);
    await refuse({ keys: { '.rope.scaling.attn_factor': f32Key(2) } }, /is 2 without longrope/, UnsupportedError);
    await refuse(
      { keys: { ...original, '.rope.scaling.type': textKey('none') }, moreTensors: longrope },
      /is none, but/,
      UnsupportedError,
    );
    for (const values of [
      [0, 1],
      [Number.NaN, 1],
      [-1, 1],
      [Number.POSITIVE_INFINITY, 1],
    ]) {
      const bad = { name: 'rope_factors_long.weight', ...factors(...values) };
      await refuse({ keys: original, moreTensors: [longrope[1]!, bad] }, /"rope_factors_long\.weight" holds/);
    }
    const long = { name: 'rope_factors_long.weight', ...factors(1, 1, 1) };
    await refuse(
      { keys: original, moreTensors: [longrope[1]!, long] },
      /shape \[3\], expected f32 \[2\]/,
      UnsupportedError,
    );
  });
});
