import { describe, expect, it } from 'vitest';
import { countOpsForHidden } from './count-ops-for-hidden.ts';
import type { Op } from './program.ts';

const [x, hidden, logits] = [0, 1, 2].map((buffer) => ({ buffer, column: 0, width: 8 }));
const norm: Op = { kind: 'rms-norm', name: 'norm', x: x!, weight: 0, eps: 1e-5, out: hidden! };
const head: Op = { kind: 'linear', name: 'head', x: hidden!, weights: [1], biases: [null], out: logits! };
const cap: Op = { kind: 'softcap', name: 'cap', x: logits!, cap: 30 };
const capture: Op = { kind: 'capture', name: 'logits', x: logits!, capture: 0 };

describe('countOpsForHidden', () => {
  it('ends before the head, and whatever follows it', () => {
    expect(countOpsForHidden({ ops: [norm, head, cap], hidden: hidden! })).toBe(1);
  });

  it('keeps what captures and the cache need', () => {
    expect(countOpsForHidden({ ops: [norm, head, capture, cap], hidden: hidden! })).toBe(3);
    const write: Op = { kind: 'write-cache', name: 'write', layer: 0, k: x!, v: x! };
    expect(countOpsForHidden({ ops: [norm, head, write], hidden: hidden! })).toBe(3);
  });

  it('is nothing where nothing writes them', () => {
    expect(countOpsForHidden({ ops: [head, cap], hidden: hidden! })).toBe(0);
  });
});
