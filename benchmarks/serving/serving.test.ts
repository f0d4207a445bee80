import { describe, expect, it } from 'vitest';
import { questionOf } from './compare.ts';
import { servingMarkdown } from './markdown.ts';
import { type MeasuredServing, measuredServing, msPerToken, type ServingCell } from './results.ts';

const decode: ServingCell = { model: 'llama-1.1b-q4_0', sequences: 8, phase: 'decode' };

describe('msPerToken', () => {
  const tokenMs = [
    [10, 20, 30],
    [14, 24, 44],
  ];

  it('divides the time until the last token by all tokens', () => {
    expect(msPerToken({ tokenMs }, 'output')).toBe(44 / 6);
  });

  it('counts decode from when every sequence has its first token', () => {
    expect(msPerToken({ tokenMs }, 'decode')).toBe((44 - 14) / 4);
    expect(
      msPerToken(
        {
          tokenMs: [
            [1, 2, 3],
            [2, 4, 6],
          ],
        },
        'decode',
      ),
    ).toBe((6 - 2) / 3);
  });
});

describe('questionOf', () => {
  it('asks for decoding behind the same prompts in every round, and for one of them alone', () => {
    const many = questionOf(decode, 'hearth', 1);
    expect(questionOf(decode, 'hearth', 2).prompts).toEqual(many.prompts);
    expect(questionOf(decode, 'single', 1).prompts).toEqual(many.prompts.slice(0, 1));
  });

  it('gives whole answers prompts that share no beginning, with those of other rounds neither', () => {
    const output: ServingCell = { ...decode, phase: 'output' };
    const prompts = [1, 2, 3].flatMap((round) => questionOf(output, 'plain', round).prompts);
    expect(prompts).toHaveLength(24);
    expect(new Set(prompts.map((prompt) => prompt.slice(0, 4).join())).size).toBe(24);
    expect(questionOf(output, 'hearth', 1).prompts).toEqual(prompts.slice(0, 8));
  });
});

describe('measuredServing', () => {
  it('gives medians, and ratios of what was measured in the same rounds', () => {
    const taken = new Map([
      ['hearth', [10, 5, 4]],
      ['single', [20, 20, 20]],
      ['plain', [10, 10, 10]],
      ['flash', []],
    ] as const);
    const measured = measuredServing(decode, taken, 'plain');
    expect(measured).toMatchObject({ rounds: 3, hearth: { median: 200 }, peerAttention: 'plain' });
    expect(measured.toSingle!.median).toBe(4);
    expect(measured.toPeer!.median).toBe(2);
    // Ratios 2, 4, 5 by round.
    expect(measured.toSingle!.spread).toBeCloseTo((5 - 2) / 2 / 4, 6);
  });

  it('has no peer where none was asked', () => {
    const measured = measuredServing({ ...decode, phase: 'output' }, new Map([['hearth', [10]]]));
    expect(Object.keys(measured)).toEqual(['model', 'sequences', 'phase', 'rounds', 'hearth']);
  });
});

describe('servingMarkdown', () => {
  const speed = (median: number) => ({ median, spread: 0.02 });
  const results = (cell: Partial<MeasuredServing>) => ({
    ...{ machine: 'A processor', commit: 'abcdef0', date: '2026-11-30T10:00:00.000Z', threads: 2, hearth: 'avx2' },
    cells: [
      { ...decode, rounds: 3, hearth: speed(200), ...cell },
      { ...decode, phase: 'output' as const, rounds: 1, hearth: speed(90) },
    ],
    leftOut: [{ ...decode, sequences: 32 }],
  });

  it('puts both phases into one row and says how the aims are met', () => {
    const text = servingMarkdown(results({ toSingle: speed(3.5), toPeer: speed(1.9) }));
    expect(text).toContain('| llama-1.1b-q4_0 | 8 | 200.0 ±2% | 3.50 ±2% |  | 1.90 ±2% | 90.0 ±2% |  |  | 3, 1 |');
    expect(text).toContain('3.50 times one sequence (aim 3: reached), 1.90 times the peer (aim 2: **below**).');
    expect(text).toContain('Not measured in the time there was: llama-1.1b-q4_0 decode of 32.');
  });
});
