import { LimitExceededError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { TextPipeline } from './text-pipeline.ts';

describe('TextPipeline', () => {
  const thousandfold = { kind: 'replace', pattern: { kind: 'literal', text: 'h' }, content: 'h'.repeat(1000) } as const;

  it.each([
    ['past the limit', 'h'.repeat(70)],
    ['past what a string can hold', 'h'.repeat(1000)],
  ])('stops a normalizer that multiplies the text %s', (_, text) => {
    const pipeline = new TextPipeline([thousandfold, thousandfold], []);
    expect(() => pipeline.normalize(text)).toThrow(LimitExceededError);
    expect(pipeline.normalize('h').length).toBe(1e6);
  });
});
