import { describe, expect, it } from 'vitest';
import type { Cell } from './aims.ts';
import { markdown } from './markdown.ts';
import { plot } from './plot.ts';
import { measured, type Results, verdictOf } from './results.ts';

const cell: Cell = { shape: 'llama-1.1b', format: 'q4_0', phase: 'prefill', context: 500 };
const decode: Cell = { shape: 'llama-1.1b', format: 'q4_0', phase: 'decode', context: 0 };
const unaimed: Cell = { shape: 'llama-3.2-3b', format: 'f16', phase: 'prefill', context: 64 };

const results: Results = {
  machine: 'A <processor>, 2 cores',
  commit: 'abcdef0',
  date: '2026-11-30T10:00:00.000Z',
  threads: 2,
  hearth: 'variant avx2',
  peer: 'a peer',
  peerBuild: 'CPU : AVX2 = 1',
  cells: [
    measured(cell, [1000, 1250, 1000], [3000, 3000, 2000], 'flash'),
    measured(decode, [1000], [1200], 'plain'),
    measured(unaimed, [1000], [500], 'plain'),
  ],
  leftOut: [{ ...decode, context: 1500 }],
};

describe('measured', () => {
  it('gives medians in tokens per second, their ratio, and the spread of the rounds', () => {
    const [prefill, decoded, other] = results.cells;
    // Speeds 500, 400, 500 beside 166.7, 166.7, 250; ratios by round 3, 2.4, 2.
    expect(prefill).toMatchObject({ hearth: 500, ratio: 3, rounds: 3, aim: 3.5, least: 2.2, peerAttention: 'flash' });
    expect(prefill!.peer).toBeCloseTo(166.67, 2);
    expect(prefill!.spread).toBeCloseTo((3 - 2) / 2 / 2.4, 6);
    expect(decoded).toMatchObject({ hearth: 32, spread: 0 });
    expect(decoded!.ratio).toBeCloseTo(1.2, 6);
    expect(other).not.toHaveProperty('aim');
  });

  it('stands to its aim', () => {
    expect(results.cells.map(verdictOf)).toEqual(['done', 'done', undefined]);
    expect(verdictOf(measured(cell, [1000], [3500], 'plain'))).toBe('aim');
    expect(verdictOf(measured(cell, [1000], [2199], 'plain'))).toBe('below');
  });
});

describe('markdown', () => {
  it('fills the table of aims in, and marks what is below and what is missing', () => {
    const text = markdown({ ...results, cells: [...results.cells.slice(1), measured(cell, [1000], [2000], 'plain')] });
    expect(text).toContain('| prefill 500, llama-1.1b | 2.00 (3.5 / 2.2) **below** | – (2 / 1.4) | – (2.5 / 1.8) |');
    expect(text).toContain('Of 2 cells with an aim 0 reach it, 1 reach the least, 1 are below.');
    expect(text).toContain('Not measured in the time there was: llama-1.1b q4_0 decode at 1500.');
    expect(text).toMatch(
      /\| llama-3\.2-3b \| f16 \| prefill 64 \| 64\.0 ±0% \| 128\.0 ±0% \(plain\) \| 0\.50 ±0% \| 1 \| +\| +\| +\|/,
    );
    // Every row of a table has as many cells as its head.
    const widths = text
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((line) => line.split('|').length);
    expect(new Set(widths)).toEqual(new Set([7, 12]));
  });
});

describe('plot', () => {
  it('has a bar for each cell and two lines for each aim, and is well formed', () => {
    const image = plot(results);
    expect(image.match(/<rect /g)).toHaveLength(3);
    expect(image.match(/class="line"/g)).toHaveLength(4);
    expect(image).toContain('A &lt;processor>');
    expect(image).toContain('prefers-color-scheme: dark');
    const [opened, closed] = [image.match(/<(text|svg|style|title)\b/g), image.match(/<\/(text|svg|style|title)>/g)];
    expect(opened).toHaveLength(closed!.length);
  });

  it('makes bars in proportion', () => {
    const lengths = [...plot(results).matchAll(/<rect class="(\w+)" x="250\.0" [^>]*width="([\d.]+)"/g)];
    const [prefill, decoded] = lengths.map(([, , length]) => Number(length));
    expect(prefill! / decoded!).toBeCloseTo(3 / 1.2, 2);
  });
});
