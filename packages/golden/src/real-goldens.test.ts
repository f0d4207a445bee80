import { InvalidModelError } from '@hearth/core';
import { findInCatalogue } from '@hearth/hub';
import { describe, expect, it } from 'vitest';
import { parseRealGoldens, realGoldens } from './real-goldens.ts';

const all = await realGoldens();

describe('greedy runs of real models', () => {
  it('are there for every architecture of the catalogue', () => {
    expect(all.map(({ name }) => name)).toEqual([
      'smollm2:135m',
      'gemma3:270m',
      'qwen2.5-coder:0.5b',
      'qwen2.5-coder:1.5b',
    ]);
  });

  it.each(all)(
    '$name is made from the file that the catalogue names, and every run is clear of rounding',
    (goldens) => {
      expect(findInCatalogue(goldens.name)).toMatchObject({ sha256: goldens.sha256, sizeBytes: goldens.sizeBytes });
      expect(new Set(goldens.prompts.map(({ name }) => name)).size).toBe(5);
      for (const { ids, promptIds, smallestGap } of goldens.prompts) {
        expect(promptIds.length).toBeGreaterThan(0);
        const end = ids.findIndex((id) => goldens.eosIds.includes(id));
        expect(ids).toHaveLength(end < 0 ? goldens.maxTokens : end + 1);
        expect(smallestGap).toBeGreaterThanOrEqual(0.01);
      }
    },
  );

  it('refuses another manifest and says why', () => {
    expect(() => parseRealGoldens('{"format":"hearth-golden","format_version":1}', 'a.json')).toThrow(
      'a.json is no manifest of a real model that this version reads: expected format "hearth-real" 1, got "hearth-golden" 1.',
    );
    expect(() => parseRealGoldens('{"format":"hearth-real","format_version":1}', 'a.json')).toThrow(InvalidModelError);
  });
});
