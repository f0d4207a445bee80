import { createRequire } from 'node:module';
import { HearthError } from '@hearth/core';
import type { Addon } from './addon-types.ts';

/** The native kernels could not be loaded. The message says what was tried, on which platform, and what may help. */
export class KernelsLoadError extends HearthError {
  constructor(message: string, options: { details: Readonly<Record<string, unknown>>; cause: unknown }) {
    super('kernels_load_failed', message, options);
  }
}

/** What tells builds apart. */
export interface Platform {
  readonly platform: string;
  readonly arch: string;
  /** On Linux: whether the C library is musl and not glibc. */
  readonly isMusl: boolean;
}

/** A place where the addon may be. */
interface Candidate {
  readonly name: string;
  load(): unknown;
}

const require = createRequire(import.meta.url);

/** Written out one by one, so that they can be searched for and that bundlers see them. */
const platformPackages: Readonly<Record<string, () => unknown>> = {
  '@hearth/kernels-linux-x64': () => require('@hearth/kernels-linux-x64'),
  '@hearth/kernels-linux-x64-musl': () => require('@hearth/kernels-linux-x64-musl'),
  '@hearth/kernels-linux-arm64': () => require('@hearth/kernels-linux-arm64'),
  '@hearth/kernels-linux-arm64-musl': () => require('@hearth/kernels-linux-arm64-musl'),
  '@hearth/kernels-darwin-x64': () => require('@hearth/kernels-darwin-x64'),
  '@hearth/kernels-darwin-arm64': () => require('@hearth/kernels-darwin-arm64'),
};

let loaded: Addon | undefined;

/**
 * The native addon, loaded once: the local build first, then the package of this platform. The environment variable
 * `HEARTH_KERNELS_ADDON` names a file that is loaded instead of both (a build with sanitizers, for example).
 * @throws KernelsLoadError
 */
export function loadAddon(): Addon {
  if (!loaded) {
    const file = process.env.HEARTH_KERNELS_ADDON;
    loaded = loadFirst(file ? [fileCandidate(file)] : candidatesFor(currentPlatform()), currentPlatform());
  }
  return loaded;
}

export function currentPlatform(): Platform {
  return { platform: process.platform, arch: process.arch, isMusl: process.platform === 'linux' && !hasGlibc() };
}

/** The name of the package that carries the addon for a platform, whether it exists or not. */
export function platformPackageName({ platform, arch, isMusl }: Platform): string {
  return `@hearth/kernels-${platform}-${arch}${isMusl ? '-musl' : ''}`;
}

function candidatesFor(platform: Platform): Candidate[] {
  const name = platformPackageName(platform);
  const load = platformPackages[name];
  return [
    // The same path from src/ and from dist/.
    { name: 'the local build (build/Release)', load: () => require('../build/Release/hearth_kernels.node') },
    ...(load === undefined ? [] : [{ name, load }]),
  ];
}

function fileCandidate(path: string): Candidate {
  return { name: `HEARTH_KERNELS_ADDON=${path}`, load: () => require(path) };
}

/** The first candidate that loads. Exported for tests. */
export function loadFirst(candidates: readonly Candidate[], platform: Platform): Addon {
  const failures: { name: string; error: unknown }[] = [];
  for (const { name, load } of candidates) {
    try {
      return load() as Addon;
    } catch (error) {
      failures.push({ name, error });
    }
  }
  throw new KernelsLoadError(explain(failures, platform), {
    details: { platform, failures: failures.map(({ name, error }) => ({ name, message: firstLine(error) })) },
    cause: failures[0]?.error,
  });
}

function explain(failures: readonly { name: string; error: unknown }[], platform: Platform): string {
  const name = platformPackageName(platform);
  const tried = failures.map((failure) => `  - ${failure.name}: ${firstLine(failure.error)}`).join('\n');
  const advice = [
    'in a checkout of Hearth: build it with `pnpm build:native` (needs a C++17 compiler and CMake)',
    ...(name in platformPackages
      ? [`installed from npm without optional dependencies: \`npm install ${name}\``]
      : [`there is no prebuilt package for ${platform.platform}-${platform.arch}: build from a checkout of Hearth`]),
    ...(platform.platform === 'linux' && !platform.isMusl
      ? ['"GLIBC_… not found": the system is older than the build; update it, or build from a checkout']
      : []),
    '"invalid ELF header" or a wrong architecture: node_modules came from another machine; run `npm install` here',
    `a Node.js without Node-API 9 (this is ${process.version}): use Node.js 20 or later`,
  ];
  return [
    `The native kernels could not be loaded on ${platform.platform}-${platform.arch}${platform.isMusl ? ' (musl)' : ''}.`,
    `Tried:\n${tried}`,
    `What may help:\n${advice.map((line) => `  - ${line}`).join('\n')}`,
    'Without them, @hearth/reference computes the same tokens, slowly.',
  ].join('\n');
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n', 1)[0]!;
}

function hasGlibc(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header?.glibcVersionRuntime !== undefined;
}
