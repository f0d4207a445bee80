import { defineConfig } from 'tsup';

/** The one build recipe of every package: ESM for Node 20, types, source maps. `entry` lists the public entry points and worker files. */
export function hearthPackage(entry: string[] = ['src/index.ts'], options: { dts?: boolean | { entry: string[] } } = {}) {
  return defineConfig({
    entry,
    format: 'esm',
    target: 'node20',
    platform: 'node',
    dts: options.dts ?? { entry: 'src/index.ts' },
    sourcemap: true,
    clean: true,
    splitting: true,
  });
}
