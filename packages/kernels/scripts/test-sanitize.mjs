// Tests under sanitizers, on Linux with g++ or clang; takes a few minutes. Not part of the default suite.
//
// 1. The thread pool alone, under the thread sanitizer.
// 2. The kernels, and the addon under the tests of this package, with the address and undefined-behaviour sanitizers. Node.js
//    itself is not instrumented, so the address sanitizer is preloaded, and leaks (its own) are not reported.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cmakeJs } from './build-native.mjs';

const packageDir = dirname(dirname(fileURLToPath(import.meta.url)));
const rootDir = join(packageDir, '../..');
const buildDir = 'build-sanitize';
const compiler = process.env.CXX ?? 'c++';

function run(command, args, options = {}) {
  console.log(`> ${command} ${args.join(' ')}`);
  const { status } = spawnSync(command, args, { stdio: 'inherit', cwd: packageDir, ...options });
  if (status !== 0) process.exit(status ?? 1);
}

mkdirSync(join(packageDir, buildDir), { recursive: true });
const poolTest = join(buildDir, 'thread_pool_test');
const poolSources = ['native/tests/thread_pool_test.cc', 'native/runtime/thread_pool.cc'];
run(compiler, ['-std=c++17', '-O1', '-g', '-fsanitize=thread', '-Inative', ...poolSources, '-o', poolTest, '-pthread']);
run(join(packageDir, poolTest), []);

console.log('building the addon with sanitizers ...');
const sanitized = ['--out', buildDir, '--CDHEARTH_SANITIZE=ON', '--parallel', String(availableParallelism())];
cmakeJs(sanitized);
cmakeJs([...sanitized, '--target', 'variants_test'], { command: 'build' });
run(join(packageDir, buildDir, 'variants_test'), []);

const asan = execFileSync(compiler, ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim();
// environments.test.ts looks at the release build and at processes that end by themselves, variants.test.ts builds a program
// of its own.
const excluded = ['environments', 'variants'].flatMap((name) => ['--exclude', `**/${name}.test.ts`]);
run('npx', ['vitest', 'run', 'packages/kernels', ...excluded], {
  cwd: rootDir,
  env: {
    ...process.env,
    HEARTH_KERNELS_ADDON: join(packageDir, buildDir, 'Release/hearth_kernels.node'),
    LD_PRELOAD: asan,
    // A cache that no machine can hold must be an error here too, not the end.
    ASAN_OPTIONS: 'detect_leaks=0:allocator_may_return_null=1',
    UBSAN_OPTIONS: 'print_stacktrace=1',
  },
});
