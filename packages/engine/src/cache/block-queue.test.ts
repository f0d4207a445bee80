import fc from 'fast-check';
import { expect, it } from 'vitest';
import { BlockQueue } from './block-queue.ts';

it('keeps the order in which blocks came, whichever are taken out', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5), { maxLength: 40 }), (touched) => {
      const queue = new BlockQueue(6);
      const expected: number[] = [];
      for (const block of touched) {
        const place = expected.indexOf(block);
        if (place < 0) {
          queue.push(block);
          expected.push(block);
        } else {
          queue.remove(block);
          expected.splice(place, 1);
        }
        expect([...queue]).toEqual(expected);
        expect(queue.oldest).toBe(expected[0]);
        expect(queue.size).toBe(expected.length);
      }
    }),
  );
});
