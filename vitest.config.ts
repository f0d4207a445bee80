import { defineConfig } from 'vitest/config';

/** One run for the whole workspace. Packages resolve to their TypeScript sources, so editing one never waits for building another. */
export default defineConfig({
  resolve: { conditions: ['@hearth/source', 'node', 'import', 'default'] },
  ssr: { resolve: { conditions: ['@hearth/source', 'node', 'import', 'default'] } },
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'apps/*/src/**/*.test.ts',
      'tools/**/*.test.ts',
      'benchmarks/**/*.test.ts',
    ],
    testTimeout: 60_000,
    // What is awaited in a browser comes when it comes, on a busy machine, too.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 120_000,
    // Two workers: the tests that matter start threads of their own.
    maxWorkers: 2,
  },
});
