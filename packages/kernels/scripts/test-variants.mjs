// Compares the variants of the kernels with the portable one, bit by bit, without JavaScript (native/tests/variants_test.cc).
//
//   node scripts/test-variants.mjs [TARGET] [VARIANT ...]
//
// TARGET is `host` (the default), which runs the objects that the addon is linked from, or `aarch64`, which is
// cross-compiled and run under qemu (on Debian: g++-aarch64-linux-gnu and qemu-user). Without variants, all are compared that
// the processor supports. What was compiled stays in build/, or in build/variants-aarch64.

import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cmakeJs } from './build-native.mjs';

const packageDir = dirname(dirname(fileURLToPath(import.meta.url)));
const target = 'variants_test';
const parallel = ['--parallel', String(availableParallelism())];

/** Runs a command, whose output is shown only when it fails; that ends this process. */
function runQuietly(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  if (status === 0) return;
  process.stderr.write(`${command} ${args.join(' ')}: ${error ?? 'failed'}\n${stdout ?? ''}${stderr ?? ''}`);
  process.exit(1);
}

/** How to build the program, and the command that runs it. */
const targets = {
  host() {
    cmakeJs(['--target', target, ...parallel], { command: 'build' });
    return [join(packageDir, 'build', target)];
  },
  aarch64() {
    const buildDir = join(packageDir, 'build/variants-aarch64');
    const system = ['-DCMAKE_SYSTEM_NAME=Linux', '-DCMAKE_SYSTEM_PROCESSOR=aarch64'];
    const compiler = [
      '-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++',
      '-DCMAKE_BUILD_TYPE=Release',
      '-DCMAKE_CXX_FLAGS_RELEASE=-O2',
    ];
    runQuietly('cmake', ['-S', packageDir, '-B', buildDir, ...system, ...compiler]);
    runQuietly('cmake', ['--build', buildDir, '--target', target, ...parallel]);
    return ['qemu-aarch64', '-cpu', 'max', join(buildDir, target)];
  },
};

const [name = 'host', ...variants] = process.argv.slice(2);
if (!Object.hasOwn(targets, name)) {
  console.error(`There is no target '${name}'. There are: ${Object.keys(targets).join(', ')}.`);
  process.exit(1);
}
const [command, ...args] = targets[name]();
const { status, error } = spawnSync(command, [...args, ...variants], { stdio: 'inherit' });
if (error) console.error(`${command} could not be started: ${error.message}`);
process.exitCode = status ?? 1;
