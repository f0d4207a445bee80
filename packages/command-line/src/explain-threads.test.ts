import { expect, it } from 'vitest';
import { explainThreads, type ThreadReasons } from './explain-threads.ts';

it.each<[number, ThreadReasons, string]>([
  [2, { processors: 2, quota: Infinity }, '2 threads, avx2: 2 processors may be used'],
  [1, { processors: 1, quota: Infinity }, '1 thread, avx2: 1 processor may be used'],
  [2, { processors: 8, quota: 1.5 }, '2 threads, avx2: 8 processors may be used, but control groups allow 1.5'],
  [7, { processors: 8, quota: 8 }, '7 threads, avx2: 8 processors may be used, some left to JavaScript and others'],
  [3, { wanted: 3, processors: 8, quota: 2 }, '3 threads, avx2: as asked for'],
])('says why %i threads compute: %j', (numThreads, reasons, text) => {
  expect(explainThreads({ kind: 'cpu', variant: 'avx2', numThreads }, reasons)).toBe(text);
});

it('has no reasons for a backend without a choice', () => {
  const info = { kind: 'reference', variant: 'typescript', numThreads: 1 } as const;
  expect(explainThreads(info, { wanted: 4 })).toBe('1 thread, reference');
});
