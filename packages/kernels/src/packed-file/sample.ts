import { createHash } from 'node:crypto';
import { packedHeaderBytes } from './layout.ts';

const numSamples = 64;
const sampleBytes = 4096;

/**
 * SHA-256 of 64 stretches of 4 kB, spread evenly over the weights, the last one at the end of the file. It finds a file that
 * was only half there, or holds another model; it does not find a single bit that changed.
 *
 * @param read gives `length` bytes at `offset`
 */
export async function sampleHash(
  fileBytes: number,
  read: (offset: number, length: number) => Promise<Uint8Array>,
): Promise<string> {
  const length = Math.min(sampleBytes, fileBytes - packedHeaderBytes);
  const lastOffset = fileBytes - length;
  const samples = Array.from({ length: numSamples }, (_, i) => {
    return read(packedHeaderBytes + Math.floor(((lastOffset - packedHeaderBytes) * i) / (numSamples - 1)), length);
  });
  const hash = createHash('sha256');
  for (const sample of await Promise.all(samples)) hash.update(sample);
  return hash.digest('hex');
}
