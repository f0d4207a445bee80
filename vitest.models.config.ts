import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Long runs of real models, kept out of CI: `pnpm test:models`. Their output is kept in docs/test-models.md. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({
    test: {
      include: ['packages/*/src/**/*.models.ts'],
      testTimeout: 3_600_000,
      fileParallelism: false,
      reporters: ['verbose'],
    },
  }),
);
