import { describe, expect, it } from 'vitest';
import { isTypeScript, workerUrl } from './worker-url.ts';

describe('workerUrl', () => {
  it('has the extension of the module that asks, and its folder', () => {
    expect(workerUrl('file:///a/src/index.ts', 'my-worker').href).toBe('file:///a/src/my-worker.ts');
    expect(workerUrl('file:///a/src/index.ts?v=1', 'my-worker').href).toBe('file:///a/src/my-worker.ts');
    expect(workerUrl('file:///a/dist/chunk-TS.js', 'my-worker').href).toBe('file:///a/dist/my-worker.js');
  });

  it('knows TypeScript by its extensions', () => {
    expect(['a.ts', 'a.mts', 'a.cts', 'a.ts#x'].map(isTypeScript)).toEqual([true, true, true, true]);
    expect(['a.js', 'a.mjs', 'a.ts.js', 'ats'].map(isTypeScript)).toEqual([false, false, false, false]);
  });
});
