/** What the peer has to be built with, by `process.arch`: without it a comparison says nothing. */
const needed: Readonly<Record<string, readonly string[]>> = {
  x64: ['AVX2', 'FMA', 'F16C', 'REPACK'],
  arm64: ['NEON', 'DOTPROD', 'REPACK'],
};

/**
 * Refuses a peer that runs without the instructions it is fast with, or without its repacked weights.
 * @param systemInfo its own line: `CPU : SSE3 = 1 | AVX2 = 1 | ... | REPACK = 1 | `
 * @throws Error that names what is missing
 */
export function requireFastPeer(systemInfo: string, arch: string = process.arch): void {
  const names = needed[arch];
  if (!names) throw new Error(`What a fast peer is built with is not known for ${arch}: add it to peer-build.ts.`);
  const missing = names.filter((name) => !new RegExp(`(^|[\\s|])${name} = 1\\b`).test(systemInfo));
  if (missing.length === 0) return;
  throw new Error(
    `This peer does not count: it runs without ${missing.join(', ')}. It reports "${systemInfo.trim()}". ` +
      'Delete .cache/benchmark-peer to install the prebuilt one again, or look whether the processor has these.',
  );
}
