/** Types of metadata values, as in the GGUF specification. */
export type GgufScalarType =
  | 'u8'
  | 'i8'
  | 'u16'
  | 'i16'
  | 'u32'
  | 'i32'
  | 'u64'
  | 'i64'
  | 'f32'
  | 'f64'
  | 'bool'
  | 'string';

/** A scalar type, or an array of one: `u32`, `array<string>`, `array<array<f32>>`. */
export type GgufValueType = GgufScalarType | `array<${string}>`;

/** u64 and i64 are numbers where a number holds them exactly, else bigints. */
export type GgufScalar = number | bigint | boolean | string;

export type GgufNumberArray =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

/** Arrays of numbers are typed arrays; arrays of strings, booleans and arrays are plain ones. */
export type GgufValue = GgufScalar | GgufNumberArray | readonly string[] | readonly boolean[] | readonly GgufValue[];

export type GgufMetadata = ReadonlyMap<string, GgufValue>;

/** A tensor as a GGUF header describes it. */
export interface GgufTensor {
  /** The name in the file: `blk.0.attn_q.weight`. */
  readonly name: string;
  /** In lower case: `q4_0`, `q6_k`, `f32` ... */
  readonly dtype: string;
  /** Slowest dimension first: [rows, columns]. (The file lists them the other way round.) */
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** A GGUF header, checked against the size of its file. */
export interface GgufHeader {
  readonly version: number;
  readonly metadata: GgufMetadata;
  readonly metadataTypes: ReadonlyMap<string, GgufValueType>;
  readonly tensors: readonly GgufTensor[];
  readonly alignment: number;
  /** Where the tensor data starts, in bytes from the start of the file. */
  readonly dataOffset: number;
  /** SHA-256 in hex of the bytes before the tensor data. */
  readonly headerHash: string;
  readonly warnings: readonly string[];
}
