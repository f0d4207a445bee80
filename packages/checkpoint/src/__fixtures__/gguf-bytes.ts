/**
 * GGUF files put together byte by byte, so that every field can be wrong on purpose. The package's own writer refuses to
 * write such files, and a reader tested only against it could share its mistakes.
 */

const valueTypes = {
  u8: 0,
  i8: 1,
  u16: 2,
  i16: 3,
  u32: 4,
  i32: 5,
  f32: 6,
  bool: 7,
  string: 8,
  array: 9,
  u64: 10,
  i64: 11,
  f64: 12,
};
export type ValueTypeName = keyof typeof valueTypes;

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return joined(parts);
}

/** `concat` for lists that are too long for an argument list. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function filled(length: number, fill: (view: DataView) => void): Uint8Array {
  const bytes = new Uint8Array(length);
  fill(new DataView(bytes.buffer));
  return bytes;
}

export const u8 = (value: number) => Uint8Array.of(value & 255);
export const u16 = (value: number) => filled(2, (view) => view.setUint16(0, value, true));
export const u32 = (value: number) => filled(4, (view) => view.setUint32(0, value, true));
export const u64 = (value: number | bigint) =>
  filled(8, (view) => view.setBigUint64(0, BigInt.asUintN(64, BigInt(value)), true));
export const f32 = (value: number) => filled(4, (view) => view.setFloat32(0, value, true));
export const f64 = (value: number) => filled(8, (view) => view.setFloat64(0, value, true));

/** A string with its length in front, which may lie. */
export function text(value: string | Uint8Array, declaredLength?: number | bigint): Uint8Array {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  return concat(u64(declaredLength ?? bytes.length), bytes);
}

/** A key, a value type (by name, or a number that does not exist) and the bytes of the value. */
export function entry(key: string | Uint8Array, type: ValueTypeName | number, value: Uint8Array): Uint8Array {
  return concat(text(key), u32(typeof type === 'number' ? type : valueTypes[type]), value);
}

/** The bytes of an array: element type, count (which may lie), elements. */
export function array(
  elementType: ValueTypeName,
  elements: readonly Uint8Array[],
  declaredLength?: number | bigint,
): Uint8Array {
  return concat(u32(valueTypes[elementType]), u64(declaredLength ?? elements.length), ...elements);
}

export interface TensorBytes {
  readonly name: string | Uint8Array;
  /** As in the file: fastest first. */
  readonly dims: readonly (number | bigint)[];
  readonly type?: number;
  readonly data?: Uint8Array;
  /** In place of where the data lies. */
  readonly offset?: number | bigint;
  /** In place of the number of dims. */
  readonly numDims?: number;
}

export interface GgufBytes {
  readonly magic?: string;
  /** The version, or four bytes in its place. */
  readonly version?: number | Uint8Array;
  readonly entries?: readonly Uint8Array[];
  readonly tensors?: readonly TensorBytes[];
  readonly numEntries?: number | bigint;
  readonly numTensors?: number | bigint;
  readonly alignment?: number;
  /** False leaves out the tensor data and the padding before it. */
  readonly withData?: boolean;
}

export function ggufBytes(file: GgufBytes = {}): Uint8Array {
  const { magic = 'GGUF', version = 3, entries = llamaEntries(), tensors = llamaTensors(), alignment = 32 } = file;
  const infos: Uint8Array[] = [];
  const data: Uint8Array[] = [];
  let offset = 0;
  for (const tensor of tensors) {
    const bytes = tensor.data ?? new Uint8Array(tensor.dims.reduce<number>((product, dim) => product * Number(dim), 4));
    infos.push(
      text(tensor.name),
      u32(tensor.numDims ?? tensor.dims.length),
      ...tensor.dims.map(u64),
      u32(tensor.type ?? 0),
      u64(tensor.offset ?? offset),
    );
    data.push(bytes, new Uint8Array(padding(bytes.length, alignment)));
    offset += bytes.length + padding(bytes.length, alignment);
  }
  const header = concat(
    new TextEncoder().encode(magic),
    typeof version === 'number' ? u32(version) : version,
    u64(file.numTensors ?? tensors.length),
    u64(file.numEntries ?? entries.length),
    ...entries,
    ...infos,
  );
  if (file.withData === false) return header;
  return concat(header, new Uint8Array(padding(header.length, alignment)), ...data);
}

function padding(length: number, alignment: number): number {
  return (alignment - (length % alignment)) % alignment;
}

/** Hidden size 8, 2 heads over 1 KV head, 1 layer, 16 tokens. */
const llamaKeys: Readonly<Record<string, readonly [ValueTypeName, Uint8Array]>> = {
  'general.architecture': ['string', text('llama')],
  'general.name': ['string', text('byte-built')],
  'llama.context_length': ['u32', u32(64)],
  'llama.embedding_length': ['u32', u32(8)],
  'llama.block_count': ['u32', u32(1)],
  'llama.feed_forward_length': ['u32', u32(12)],
  'llama.attention.head_count': ['u32', u32(2)],
  'llama.attention.head_count_kv': ['u32', u32(1)],
  'llama.attention.layer_norm_rms_epsilon': ['f32', f32(1e-5)],
  'llama.rope.dimension_count': ['u32', u32(4)],
  'llama.rope.freq_base': ['f32', f32(10000)],
  'llama.vocab_size': ['u32', u32(16)],
  'tokenizer.ggml.model': ['string', text('gpt2')],
  'tokenizer.ggml.tokens': [
    'array',
    array(
      'string',
      Array.from({ length: 16 }, (_, i) => text(`t${i}`)),
    ),
  ],
  'tokenizer.ggml.bos_token_id': ['u32', u32(1)],
  'tokenizer.ggml.eos_token_id': ['u32', u32(2)],
};

/** The metadata of a small Llama, with some keys changed, added or (undefined) left out. */
export function llamaEntries(
  changes: Readonly<Record<string, readonly [ValueTypeName, Uint8Array] | undefined>> = {},
): Uint8Array[] {
  const keys = { ...llamaKeys, ...changes };
  return Object.entries(keys).flatMap(([key, value]) => (value ? [entry(key, value[0], value[1])] : []));
}

/** f32 data: element i is start + i. */
export function counting(length: number, start = 0): Uint8Array {
  return concat(...Array.from({ length }, (_, i) => f32(start + i)));
}

/** The tensors of the same Llama, under their GGUF names. */
export function llamaTensors(): TensorBytes[] {
  return [
    { name: 'token_embd.weight', dims: [8, 16], data: counting(128) },
    { name: 'output_norm.weight', dims: [8], data: counting(8) },
    { name: 'output.weight', dims: [8, 16], data: counting(128) },
    { name: 'blk.0.attn_norm.weight', dims: [8], data: counting(8) },
    { name: 'blk.0.attn_q.weight', dims: [8, 8], data: counting(64) },
    { name: 'blk.0.attn_k.weight', dims: [8, 4], data: counting(32) },
    { name: 'blk.0.attn_v.weight', dims: [8, 4], data: counting(32) },
    { name: 'blk.0.attn_output.weight', dims: [8, 8], data: counting(64) },
    { name: 'blk.0.ffn_norm.weight', dims: [8], data: counting(8) },
    { name: 'blk.0.ffn_gate.weight', dims: [8, 12], data: counting(96) },
    { name: 'blk.0.ffn_up.weight', dims: [8, 12], data: counting(96) },
    { name: 'blk.0.ffn_down.weight', dims: [12, 8], data: counting(96) },
  ];
}
