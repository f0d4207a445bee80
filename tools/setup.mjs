// Sets the workspace up with nothing but Node, npm, a C++17 compiler and CMake: the pinned pnpm, the dependencies, the build.
// Each part is skipped when it is already there. Uses no dependency, because it runs before there are any.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const cacheDirectory = join(root, '.cache');
const pnpmBin = join(cacheDirectory, 'tools', 'node_modules', '.bin');

/** A message for the person at the terminal; no stack. */
export class SetupError extends Error {}

/**
 * The environment for child processes: the pinned pnpm first on the path, no telemetry, no questions. Addons that are compiled
 * take the headers that came with this Node.js, where they did, rather than downloading them.
 */
export function environment() {
  const nodeDirectory = dirname(dirname(process.execPath));
  return {
    ...(existsSync(join(nodeDirectory, 'include', 'node', 'node.h')) && { npm_config_nodedir: nodeDirectory }),
    ...process.env,
    PATH: `${pnpmBin}${delimiter}${process.env.PATH}`,
    CI: process.env.CI ?? 'true',
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
  };
}

/** Runs a command in the workspace; its output goes to standard error, so that standard output stays the program's own. */
export function run(command, args, { quiet = false } = {}) {
  const result = spawnSync(command, args, {
    cwd: root,
    env: environment(),
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 2, 2],
    encoding: 'utf8',
    shell: process.platform === 'win32',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.error) throw new SetupError(`${command} could not be started: ${result.error.message}`);
  if (result.status !== 0) {
    if (quiet) process.stderr.write(`${result.stdout}${result.stderr}\n`);
    throw new SetupError(`\`${command} ${args.join(' ')}\` failed.`);
  }
}

export function setUp() {
  checkTools();
  installPnpm();
  installDependencies();
  if (!existsSync(join(root, 'apps/cli/dist/main.js'))) console.error('Building (a minute or two, once) ...');
  run('pnpm', ['exec', 'turbo', 'run', 'build', '--output-logs=errors-only'], { quiet: true });
}

function checkTools() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 20) throw new SetupError(`Hearth needs Node.js 20 or later; this is ${process.version}.`);
  const compilers = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++', 'cl'];
  const missing = [];
  if (!compilers.some((compiler) => exists(compiler))) {
    missing.push(`a C++17 compiler (looked for ${compilers.join(', ')}; on Debian: apt install g++)`);
  }
  if (!exists('cmake')) missing.push('CMake (on Debian: apt install cmake; on macOS: brew install cmake)');
  // Visual Studio brings a build tool of its own.
  if (process.platform !== 'win32' && !exists('make') && !exists('ninja')) {
    missing.push('Make or Ninja (on Debian: apt install make; on macOS: xcode-select --install)');
  }
  if (missing.length > 0) throw new SetupError(`Missing to build the kernels: ${missing.join(', and ')}.`);
}

function exists(command) {
  const result = spawnSync(command, ['--version'], { stdio: 'ignore', shell: process.platform === 'win32' });
  return !result.error && (result.status === 0 || command === 'cl');
}

function installPnpm() {
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifest = join(cacheDirectory, 'tools', 'node_modules', 'pnpm', 'package.json');
  const installed = existsSync(manifest) ? `pnpm@${JSON.parse(readFileSync(manifest, 'utf8')).version}` : 'none';
  if (installed === packageManager) return;
  console.error(`Installing ${packageManager} ...`);
  mkdirSync(join(cacheDirectory, 'tools'), { recursive: true });
  const prefix = join(cacheDirectory, 'tools');
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', prefix, packageManager], { quiet: true });
}

/** Dependencies are current when the lockfile and every manifest are what they were at the last install. */
function installDependencies() {
  const stamp = join(root, 'node_modules', '.hearth-install');
  const state = manifestHash();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === state) return;
  console.error(
    'Installing dependencies (SQLite is compiled where no binary of it can be had: some minutes, once) ...',
  );
  const startedAt = performance.now();
  run('pnpm', ['install', '--frozen-lockfile'], { quiet: true });
  console.error(`Dependencies installed in ${Math.round((performance.now() - startedAt) / 1000)} s.`);
  writeFileSync(stamp, state);
}

function manifestHash() {
  const hash = createHash('sha256');
  const manifests = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json', 'benchmarks/package.json'];
  for (const folder of ['packages', 'apps']) {
    for (const name of readdirSync(join(root, folder)).sort()) manifests.push(`${folder}/${name}/package.json`);
  }
  for (const file of manifests) {
    if (existsSync(join(root, file))) hash.update(file).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

/** Runs `main`, turning a SetupError into one sentence and exit code 1. */
export function runMain(main) {
  try {
    main();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}
