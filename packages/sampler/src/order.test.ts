import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { buildPipeline } from './order.ts';
import { resolveSamplingParams } from './params/resolve-sampling-params.ts';
import type { Processor } from './processors/processor.ts';

const everything = {
  logitBias: { 1: 1 },
  repetitionPenalty: 1.1,
  frequencyPenalty: 1,
  presencePenalty: 1,
  typicalP: 0.9,
  topP: 0.9,
  minP: 0.1,
};
const custom: Processor[] = [
  { stage: 'candidates', name: 'custom candidates', process: () => {} },
  { stage: 'logits', name: 'custom logits', process: () => {} },
];

function namesOf(params: object, processors: Processor[] = []): string[] {
  const { logitSteps, candidateProcessors } = buildPipeline(resolveSamplingParams(params, 10), processors);
  return [...logitSteps.map(({ processor }) => processor.name), '|', ...candidateProcessors.map(({ name }) => name)];
}

describe('buildPipeline', () => {
  it('has the documented order', () => {
    expect(namesOf(everything, custom)).toEqual([
      'logitBias',
      'repetitionPenalty',
      'frequencyPresencePenalty',
      'custom logits',
      'mask',
      '|',
      'temperature',
      'typicalP',
      'topP',
      'minP',
      'custom candidates',
    ]);
  });

  it('leaves out what would do nothing', () => {
    expect(namesOf({})).toEqual(['mask', '|', 'temperature']);
    expect(namesOf({ repetitionPenalty: 2, repetitionWindow: 0 })).toEqual(['mask', '|', 'temperature']);
  });

  it('is the order that the README gives', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const steps = [...readme.matchAll(/^\d+\. \*\*(.+?)\*\*/gm)].map((match) => match[1]);
    expect(steps).toEqual([
      'logit bias',
      'repetition penalty',
      'frequency and presence penalty',
      'custom logit processors',
      'mask',
      'top-k',
      'temperature',
      'typical-p',
      'top-p',
      'min-p',
      'custom candidate processors',
      'draw',
    ]);
  });
});
