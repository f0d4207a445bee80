import { expect, it } from 'vitest';
import { sumWork } from './op-work.ts';
import { leastSeconds } from './roofline.ts';

const ceilings = { memoryBytes: 20, cacheBytes: 100, integerOps: 400, floatOps: 200 };

it('takes weights and keys from memory, activations from the cache', () => {
  const work = sumWork([{ weightBytes: 30, cacheBytes: 10, activationBytes: 50 }]);
  expect(leastSeconds(work, ceilings)).toEqual({ bytes: 2.5, ops: 0 });
});

it('adds integer and float operations, which keep the same units busy', () => {
  expect(leastSeconds(sumWork([{ integerOps: 800, floatOps: 200 }]), ceilings)).toEqual({ bytes: 0, ops: 3 });
});
