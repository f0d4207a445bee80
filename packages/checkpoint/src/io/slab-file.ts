import { DerivedFile, type FileRange } from '@hearth/core';

/**
 * A file that is worked out slab by slab. Whoever reads front to back makes each slab once and has one in memory at a time.
 *
 * @param path names the origin in messages
 * @param slabBytes length of every slab but the last, which may be shorter
 * @param makeSlab gives the whole slab of that number, counted from 0
 * @param origin what it is made from: samples are taken there, so that none keeps a slab in memory
 */
export function slabFile(
  path: string,
  size: number,
  slabBytes: number,
  makeSlab: (index: number) => Promise<Uint8Array>,
  origin: FileRange,
): DerivedFile {
  let current: { readonly index: number; readonly bytes: Promise<Uint8Array> } | undefined;
  const derive = async (offset: number, length: number) => {
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length; ) {
      const at = offset + filled;
      const index = Math.floor(at / slabBytes);
      if (current?.index !== index) current = { index, bytes: makeSlab(index) };
      const slab = await current.bytes.catch((error) => {
        current = undefined;
        throw error;
      });
      const start = at - index * slabBytes;
      const part = slab.subarray(start, start + length - filled);
      bytes.set(part, filled);
      filled += part.length;
      if (start + part.length === slab.length && current?.index === index) current = undefined;
    }
    return bytes;
  };
  return new DerivedFile(path, size, derive, origin);
}
