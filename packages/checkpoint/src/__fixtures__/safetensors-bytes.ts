import { concat, u64 } from './gguf-bytes.ts';

/** A safetensors file from a header (an object, or text that may be anything) and its data. */
export function safetensorsBytes(
  header: string | Readonly<Record<string, unknown>>,
  data: Uint8Array = new Uint8Array(0),
  declaredLength?: number | bigint,
): Uint8Array {
  const text = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  return concat(u64(declaredLength ?? text.length), text, data);
}
