import { describe, expect, it } from 'vitest';
import { aimedCells, aimOf } from './aims.ts';
import { selectCells } from './select-cells.ts';

const names = (cells: ReturnType<typeof selectCells>) =>
  cells.map(({ shape, format, phase, context }) => `${shape} ${format} ${phase}:${context}`);

describe('aimedCells', () => {
  it('has every figure of the table once, with the least below the aim', () => {
    expect(aimedCells).toHaveLength(19);
    expect(new Set(names(aimedCells)).size).toBe(19);
    for (const cell of aimedCells) {
      expect(cell.least).toBeLessThan(cell.aim);
      expect(aimOf(cell)).toBe(cell);
    }
  });

  it('keeps the cells of a model together, so that each is loaded once', () => {
    const models = aimedCells.map(({ shape, format }) => `${shape} ${format}`);
    const changes = models.filter((model, i) => model !== models[i - 1]);
    expect(changes).toEqual([...new Set(models)]);
  });
});

describe('selectCells', () => {
  it('takes the cells with an aim unless told otherwise', () => {
    expect(selectCells({})).toEqual(aimedCells);
    expect(names(selectCells({ shapes: 'llama-1.1b', formats: 'f16' }))).toEqual([
      'llama-1.1b f16 prefill:500',
      'llama-1.1b f16 decode:0',
    ]);
  });

  it('takes any cell of any model that is named', () => {
    expect(names(selectCells({ shapes: 'llama-3.2-3b', formats: 'q4_k_m', cells: 'prefill:64,decode:8' }))).toEqual([
      'llama-3.2-3b q4_k_m prefill:64',
      'llama-3.2-3b q4_k_m decode:8',
    ]);
    expect(selectCells({ shapes: 'llama-1.1b', formats: 'q4_0', cells: 'all' })).toHaveLength(6);
    // 4 formats of the Llama, 3 of SmolLM2, 1 of Qwen.
    expect(selectCells({ cells: 'decode:0' })).toHaveLength(8);
  });

  it.each([
    [{ shapes: 'llama-7b' }, /no shape llama-7b; there are llama-1\.1b/],
    [{ formats: 'q4_k' }, /no format q4_k; there are f16/],
    [{ cells: 'prefill' }, /prefill:N or decode:N with N up to 1900, got prefill/],
    [{ cells: 'prefill:0' }, /got prefill:0/],
    [{ cells: 'decode:2000' }, /got decode:2000/],
    [{ shapes: 'llama-3.2-3b' }, /No cell of these shapes and formats has an aim/],
  ])('refuses %j', (selection, message) => {
    expect(() => selectCells(selection)).toThrow(message);
  });
});
