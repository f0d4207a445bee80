import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { peerDirectory, peerEntry, peerEntryIn } from './install-peer.ts';

/** Which of its CPU builds the peer may use: the best for this processor, or the one for AVX2, FMA and F16C (`haswell`). */
export const peerIsas = ['native', 'avx2'] as const;

export type PeerIsa = (typeof peerIsas)[number];

/**
 * The module to import for a peer that is held to an instruction set. Its package has one library for each class of
 * processors and loads the one that scores best here, so the way to hold it back is an installation without the others:
 * a tree of hard links, which takes no space.
 */
export function peerEntryFor(isa: PeerIsa): string {
  if (isa === 'native') return peerEntry;
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(`--peer-isa ${isa} is for Linux on x64; this is ${process.platform} on ${process.arch}.`);
  }
  const version = versionOf(peerEntry);
  const held = fileURLToPath(new URL(`../../.cache/benchmark-peer-${isa}-${version}/`, import.meta.url));
  if (!existsSync(held)) {
    const partial = `${held.slice(0, -1)}.part`;
    rmSync(partial, { recursive: true, force: true });
    linkTree(peerDirectory, partial, (name) => /^libggml-cpu-(?!haswell\.)/.test(name));
    renameSync(partial, held);
  }
  return peerEntryIn(held);
}

/** Which library for CPUs this process has loaded, such as `haswell`; undefined where that cannot be seen. */
export function loadedCpuLibrary(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const names = readFileSync('/proc/self/maps', 'utf8').matchAll(/libggml-cpu-(\w+)\.so/g);
  return [...new Set([...names].map(([, name]) => name))].join(', ') || undefined;
}

function linkTree(from: string, to: string, isLeftOut: (name: string) => boolean): void {
  mkdirSync(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (isLeftOut(entry.name)) continue;
    if (entry.isDirectory()) linkTree(source, target, isLeftOut);
    else if (entry.isFile()) linkSync(source, target);
  }
}

function versionOf(entry: string): string {
  const manifest = join(entry, '../../package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
