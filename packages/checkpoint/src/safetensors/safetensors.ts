/** A tensor as a safetensors header describes it. */
export interface SafetensorsTensor {
  readonly name: string;
  /** In lower case: `f32`, `bf16`, `i64`, `f8_e4m3` ... */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
}

/** A safetensors header, checked against the size of its file. */
export interface SafetensorsHeader {
  /** `__metadata__` */
  readonly metadata: ReadonlyMap<string, string>;
  /** In the order of the header. */
  readonly tensors: readonly SafetensorsTensor[];
  /** Where the tensor data starts, in bytes from the start of the file. */
  readonly dataOffset: number;
  /** SHA-256 in hex of the bytes before the tensor data. */
  readonly headerHash: string;
}
