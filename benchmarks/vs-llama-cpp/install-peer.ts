import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where it is installed. */
export const peerDirectory = fileURLToPath(new URL('../../.cache/benchmark-peer/', import.meta.url));
const manifest = fileURLToPath(new URL('peer/package.json', import.meta.url));

/** The module to import of an installation in this directory. */
export function peerEntryIn(directory: string): string {
  return join(directory, 'node_modules/node-llama-cpp/dist/index.js');
}

/** The module to import. */
export const peerEntry = peerEntryIn(peerDirectory);

/** Installs the pinned node-llama-cpp with its prebuilt CPU binary into .cache; nothing happens when it is there. */
export function installPeer(): string {
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as { dependencies: Record<string, string> };
  const version = dependencies['node-llama-cpp']!;
  if (!existsSync(peerEntry)) {
    mkdirSync(peerDirectory, { recursive: true });
    copyFileSync(manifest, join(peerDirectory, 'package.json'));
    // Optional packages are GPU builds of half a gigabyte; the one for this CPU is asked for by name.
    const binary = `@node-llama-cpp/${platformName()}@${version}`;
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional', binary], {
      cwd: peerDirectory,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return `node-llama-cpp ${version}`;
}

function platformName(): string {
  const platforms: Record<string, string> = { linux: 'linux', darwin: 'mac', win32: 'win' };
  const platform = platforms[process.platform];
  if (!platform) throw new Error(`node-llama-cpp has no binary for ${process.platform}.`);
  return platform === 'mac' && process.arch === 'arm64' ? 'mac-arm64-metal' : `${platform}-${process.arch}`;
}
