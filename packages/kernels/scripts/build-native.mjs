// Builds build/Release/hearth_kernels.node with cmake-js, unless the one that is there was built from these very sources.
// The addon carries the hash of its sources as text, so the check needs no file beside it and survives caches.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const packageDir = dirname(dirname(fileURLToPath(import.meta.url)));
const addon = join(packageDir, 'build/Release/hearth_kernels.node');
const require = createRequire(import.meta.url);

/** Hash of everything that the binary depends on, besides the compiler. */
function sourceHash() {
  const hash = createHash('sha256');
  const files = readdirSync(join(packageDir, 'native'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(cc|h|map)$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  for (const file of [...files, join(packageDir, 'CMakeLists.txt')]) {
    hash.update(file.slice(packageDir.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  for (const name of ['node-addon-api', 'node-api-headers']) hash.update(require(`${name}/package.json`).version);
  return hash.digest('hex').slice(0, 32);
}

/**
 * Runs cmake-js in this package; its output is shown only when it fails. The source hash goes along as a definition, because a
 * full rebuild, which its command `compile` does by itself after a failed build, deletes every file below the build folder.
 * `build` does not.
 */
export function cmakeJs(args, { command = 'compile', ...options } = {}) {
  const cli = join(dirname(require.resolve('cmake-js/package.json')), 'bin/cmake-js');
  const result = spawnSync(process.execPath, [cli, command, `--CDHEARTH_SOURCE_HASH=${sourceHash()}`, ...args], {
    cwd: packageDir,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  console.error(
    'The native kernels could not be built. They need CMake 3.15 or later and a C++17 compiler (g++ or clang).',
  );
  process.exit(1);
}

function main() {
  const hash = sourceHash();
  if (existsSync(addon) && readFileSync(addon).includes(`hearth-source:${hash}`)) {
    console.log('native kernels: up to date');
    return;
  }
  const start = Date.now();
  console.log('native kernels: building (a minute when nothing is built yet) ...');
  cmakeJs(['--parallel', String(availableParallelism())]);
  console.log(`native kernels: built in ${((Date.now() - start) / 1000).toFixed(1)} s`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
