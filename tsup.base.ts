import { defineConfig } from 'tsup';

/**
 * Declarations are a build of their own (`pnpm build:types`): they cost ten times what the code does, and only publishing
 * needs them. In the workspace, types come from the sources.
 */
const onlyTypes = process.env.npm_lifecycle_event === 'build:types';

/**
 * The one build recipe of every package: ESM for Node 20, source maps.
 *
 * @param entry public entry points and worker files
 * @param publicEntry those of them that have declarations
 */
export function hearthPackage(entry: string[] = ['src/index.ts'], publicEntry: string[] = ['src/index.ts']) {
  return defineConfig({
    entry,
    format: 'esm',
    target: 'node20',
    platform: 'node',
    dts: onlyTypes && { only: true, entry: publicEntry, compilerOptions: { customConditions: [] } },
    sourcemap: true,
    clean: !onlyTypes,
    splitting: true,
  });
}
