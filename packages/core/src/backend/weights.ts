import type { WeightDtype } from '../tensor/dtypes.ts';
import type { MappedFile } from './files.ts';

/**
 * A weight that a Program reads, by its Hugging Face checkpoint name.
 *
 * A `matrix` [rows, columns] is packed into row tiles in its own dtype (see packed-layout.ts). A `vector` [length] (norm
 * weights, biases) is converted to f32.
 */
export interface WeightSpec {
  readonly name: string;
  readonly role: 'matrix' | 'vector';
  readonly shape: readonly number[];
}

/** Where the bytes of a weight are. `byteLength` always equals what dtype and shape ask for. */
export interface WeightSource {
  readonly name: string;
  readonly dtype: WeightDtype;
  /** [rows, columns] or [length], row-major. */
  readonly shape: readonly number[];
  readonly file: MappedFile;
  /** Bytes from the start of the file. */
  readonly offset: number;
  readonly byteLength: number;
  /** Row i of the weight is row `rowOrder[i]` in the file (GGUF stores the q and k rows of Llama permuted). */
  readonly rowOrder?: Uint32Array;
}

/** Packed weights, owned by the backend that made them. */
export interface Weights {
  /** Bytes that the packed weights take in memory. */
  readonly packedBytes: number;
  /** Bytes of the sources they were packed from. */
  readonly sourceBytes: number;
  /** Frees the memory; safe to call twice. Executables compiled from it must be disposed first. */
  dispose(): Promise<void>;
}

export interface LoadWeightsOptions {
  readonly signal?: AbortSignal;
  /** Called now and then with bytes packed so far and in all. */
  readonly onProgress?: (progress: { readonly doneBytes: number; readonly totalBytes: number }) => void;
}
