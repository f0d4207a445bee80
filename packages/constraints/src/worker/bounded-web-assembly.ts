/** What is used of a WebAssembly memory; the types of Node do not have it. */
interface Memory {
  readonly buffer: ArrayBuffer;
  grow(numPages: number): number;
}

interface WebAssemblyApi {
  readonly Memory: new (...input: never) => Memory;
  instantiate(
    ...input: unknown[]
  ): Promise<{ readonly instance: { readonly exports: Readonly<Record<string, unknown>> } }>;
}

const pageBytes = 65536;

/**
 * The WebAssembly of JavaScript, but that the memories of its instances ask `mayHold` before they grow to so many bytes.
 * A worker's heap limit does not count them, and the module itself would let them grow to 2 GiB.
 */
export function boundedWebAssembly(mayHold: (numBytes: number) => boolean): object {
  const api = Reflect.get(globalThis, 'WebAssembly') as WebAssemblyApi;
  const instantiate: WebAssemblyApi['instantiate'] = async (...input) => {
    const result = await api.instantiate(...input);
    for (const memory of Object.values(result.instance.exports)) {
      if (memory instanceof api.Memory) bound(memory, mayHold);
    }
    return result;
  };
  return Object.create(api, { instantiate: { value: instantiate } });
}

function bound(memory: Memory, mayHold: (numBytes: number) => boolean): void {
  const grow = memory.grow.bind(memory);
  memory.grow = (numPages) => {
    if (mayHold(memory.buffer.byteLength + numPages * pageBytes)) return grow(numPages);
    throw new RangeError('The memory is not allowed to grow so far.');
  };
}
