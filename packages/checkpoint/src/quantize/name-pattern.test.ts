import { describe, expect, it } from 'vitest';
import { matchesPattern } from './name-pattern.ts';

describe('matchesPattern', () => {
  it.each([
    ['', '', true],
    ['', 'a', false],
    ['*', '', true],
    ['*', 'anything.at.all', true],
    ['model.norm.weight', 'model.norm.weight', true],
    ['model.norm.weight', 'model.norm.weights', false],
    // Only `*` is special.
    ['model.norm?weight', 'model.norm.weight', false],
    ['model.norm.weight', 'model.normXweight', false],
    ['*.v_proj.weight', 'model.layers.10.self_attn.v_proj.weight', true],
    ['*.v_proj.weight', 'model.layers.10.self_attn.v_proj.bias', false],
    ['model.layers.1.*', 'model.layers.1.mlp.up_proj.weight', true],
    ['model.layers.1.*', 'model.layers.10.mlp.up_proj.weight', false],
    // The last `*` takes more when the rest came too early.
    ['*ab', 'abab', true],
    ['a*b*c', 'a.b.c.b', false],
    ['a**c', 'abc', true],
  ])('%j and %j: %j', (pattern, name, expected) => {
    expect(matchesPattern(pattern, name)).toBe(expected);
  });

  it('takes no long time for patterns that send others back and forth', () => {
    // 30 stars over 10,000 characters: a matcher that tried all ways would not come back.
    expect(matchesPattern(`${'*a'.repeat(30)}b`, 'a'.repeat(10_000))).toBe(false);
  });
});
