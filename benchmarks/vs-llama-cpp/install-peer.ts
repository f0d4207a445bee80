import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const directory = fileURLToPath(new URL('../../.cache/benchmark-peer/', import.meta.url));
const manifest = fileURLToPath(new URL('peer/package.json', import.meta.url));

/** The module to import. */
export const peerEntry = join(directory, 'node_modules/node-llama-cpp/dist/index.js');

/** Installs the pinned node-llama-cpp with its prebuilt CPU binary into .cache; nothing happens when it is there. */
export function installPeer(): string {
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8')) as { dependencies: Record<string, string> };
  const version = dependencies['node-llama-cpp']!;
  if (!existsSync(peerEntry)) {
    mkdirSync(directory, { recursive: true });
    copyFileSync(manifest, join(directory, 'package.json'));
    // Optional packages are GPU builds of half a gigabyte; the one for this CPU is asked for by name.
    const binary = `@node-llama-cpp/${platformName()}@${version}`;
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--omit=optional', binary], {
      cwd: directory,
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
