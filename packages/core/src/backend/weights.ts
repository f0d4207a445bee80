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
  /** The checkpoint holds the matrix as [columns, rows] (the Conv1D layers of GPT-2). */
  readonly transposed?: boolean;
  /** Added to every element of a vector when it is loaded, in f32 (Gemma's norms hold weight − 1). */
  readonly plus?: number;
}

/**
 * Where the bytes of a weight are, as a backend packs them: `transposed` and `plus` of the spec have been dealt with by
 * whoever made the source. `byteLength` always equals what dtype and shape ask for. */
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
  /**
   * Column i in the file is column `columnOrder[i]` of the weight, so it meets x[columnOrder[i]] (GPTQ with act-order keeps
   * the columns of a group together). Quantized matrices only.
   */
  readonly columnOrder?: Uint32Array;
}

/** Packed weights, owned by the backend that made them. */
export interface Weights {
  /** Bytes that the packed weights take in memory. */
  readonly packedBytes: number;
  /** Bytes of the sources they were packed from. */
  readonly sourceBytes: number;
  /** True when they came, packed, from a file of the packed cache. */
  readonly isFromCache?: boolean;
  /** Frees the memory; safe to call twice. Executables compiled from it must be disposed first. */
  dispose(): Promise<void>;
}

export interface LoadWeightsOptions {
  readonly signal?: AbortSignal;
  /** Called now and then with bytes packed so far and in all. */
  readonly onProgress?: (progress: { readonly doneBytes: number; readonly totalBytes: number }) => void;
  /** Where packed weights are kept for the next load. Without it, or with a backend that does not pack, nothing is kept. */
  readonly packedCache?: PackedCache | undefined;
}

/** A directory of packed weights, and what is loaded now. */
export interface PackedCache extends PackedCacheOptions {
  /** The model for people: the path that it is loaded from. */
  readonly source: string;
  /**
   * A text that is another one whenever the sources may hold other bytes: their sizes, times and headers, and what is made of
   * them on load. The backend adds the specs, the types and orders of the sources, and its layout.
   */
  readonly identity: string;
}

export interface PackedCacheOptions {
  /** Made when it is not there. Files in it are named `*.packed`. */
  readonly directory: string;
  /** Most bytes of all packed files; those not used for longest go first. A model that is larger is not kept. */
  readonly maxBytes: number;
  /** Weights that take less are not kept: packing them takes no time. */
  readonly minBytes: number;
  /** Told why a packed file was not used or not written, where that is no matter of course. */
  readonly onWarning?: ((message: string) => void) | undefined;
}
