/**
 * Size of a value that is about to be posted: UTF-16 code units of strings, bytes of buffers, and 8 for every other
 * value. Stops counting as soon as the limit is passed, so that a huge value costs no more than the limit.
 * Values with cycles are counted once per object.
 */
export function measure(value: unknown, limit: number): number {
  const seen = new Set<object>();
  const stack: unknown[] = [value];
  let size = 0;
  while (stack.length > 0 && size <= limit) {
    const item = stack.pop();
    if (typeof item === 'string') {
      size += item.length;
      continue;
    }
    size += 8;
    if (typeof item !== 'object' || item === null || seen.has(item)) continue;
    seen.add(item);
    if (ArrayBuffer.isView(item)) size += item.byteLength;
    else if (item instanceof ArrayBuffer || item instanceof SharedArrayBuffer) size += item.byteLength;
    else if (item instanceof Map) for (const entry of item) stack.push(entry[0], entry[1]);
    else if (item instanceof Set) for (const entry of item) stack.push(entry);
    else if (Array.isArray(item)) for (const entry of item) stack.push(entry);
    else for (const [key, entry] of Object.entries(item)) stack.push(key, entry);
  }
  return size;
}
