import type { Candidates } from './candidates.ts';
import { radixSort } from './radix-sort.ts';

/** Smallest buffer: below it, sorting costs less than the bookkeeping it would save. */
const MIN_CAPACITY = 2048;

/** Buffers of `selectCandidates`, kept between calls. */
export class SelectionBuffers {
  keys = new Uint32Array(0);
  tokenIds = new Uint32Array(0);

  reserve(capacity: number): void {
    if (this.keys.length >= capacity) return;
    this.keys = new Uint32Array(capacity);
    this.tokenIds = new Uint32Array(capacity);
  }
}

/**
 * Fills `candidates` with the tokens whose logit is above `floor`, best first (logit descending, then id ascending; -0
 * and 0 are equal), at most `limit` of them. The result is that of sorting the whole row and cutting it; what is done is
 * one walk over the row that collects the tokens above a running threshold in a buffer of twice the limit. A full buffer
 * is sorted and cut back to `limit`, and the worst survivor becomes the threshold. Later equals have higher ids and lose
 * to it, so the comparison is strict. The row is never sorted beyond the buffer, and any row takes linear time.
 *
 * @param logits [vocabSize], without NaN; -Infinity is never a candidate
 */
export function selectCandidates(
  logits: Float32Array,
  { limit, floor }: { limit: number; floor: number },
  candidates: Candidates,
  buffers: SelectionBuffers,
): void {
  const capacity = Math.min(logits.length, Math.max(MIN_CAPACITY, 2 * limit));
  buffers.reserve(capacity);
  const { keys, tokenIds } = buffers;
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);

  let threshold = floor;
  let length = 0;
  for (let tokenId = 0; tokenId < logits.length; tokenId++) {
    if (!(logits[tokenId]! > threshold)) continue;
    if (length === capacity) {
      radixSort(keys, tokenIds, length);
      length = limit;
      threshold = logits[tokenIds[limit - 1]!]!;
      if (!(logits[tokenId]! > threshold)) continue;
    }
    keys[length] = descendingKey(bits[tokenId]!);
    tokenIds[length] = tokenId;
    length++;
  }
  radixSort(keys, tokenIds, length);

  candidates.reset(Math.min(limit, capacity));
  candidates.length = Math.min(limit, length);
  for (let i = 0; i < candidates.length; i++) {
    const tokenId = tokenIds[i]!;
    candidates.tokenIds[i] = tokenId;
    candidates.logits[i] = logits[tokenId]!;
  }
}

/** Unsigned key that ascends as the float with these bits descends. */
function descendingKey(bits: number): number {
  // Positive floats have the order of their bits, negative ones the reverse. -0 has only the sign bit.
  if (bits >= 0) return 0x7fffffff - bits;
  return bits === -0x80000000 ? 0x7fffffff : bits >>> 0;
}
