import type { ByteTable } from './compiled-tokenizer.ts';

/** Puts byte strings into one buffer. Missing entries are empty. */
export function packBytes(entries: readonly (Uint8Array | undefined)[]): ByteTable {
  const offsets = new Uint32Array(entries.length + 1);
  entries.forEach((entry, index) => {
    offsets[index + 1] = (offsets[index] as number) + (entry?.length ?? 0);
  });
  const bytes = new Uint8Array(offsets[entries.length] as number);
  entries.forEach((entry, index) => {
    if (entry !== undefined) bytes.set(entry, offsets[index]);
  });
  return { bytes, offsets };
}

/** A view of one entry; do not write to it. */
export function entryOf(table: ByteTable, index: number): Uint8Array<ArrayBuffer> {
  return table.bytes.subarray(table.offsets[index], table.offsets[index + 1]);
}
