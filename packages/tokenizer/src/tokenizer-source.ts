/** The content of a JSON file: its bytes, its text, or what it was parsed to. */
export type JsonFile = string | Uint8Array | Readonly<Record<string, unknown>>;

/** Where a tokenizer comes from. */
export type TokenizerSource =
  | {
      kind: 'tokenizer-json';
      /** Content of `tokenizer.json`. Parsed in the worker, so give bytes or text rather than an object. */
      json: string | Uint8Array;
      /** Content of `tokenizer_config.json`: BOS, EOS and more special tokens. */
      config?: JsonFile | undefined;
      /** More ids that end a text, as `generation_config.json` lists them. */
      eosTokenIds?: readonly number[] | undefined;
    }
  | {
      kind: 'gguf';
      /** Metadata of a GGUF file; the keys `tokenizer.ggml.*` and `general.architecture` are read. */
      metadata: Readonly<Record<string, unknown>> | ReadonlyMap<string, unknown>;
    };

/** Bounds of loading and encoding. */
export interface TokenizerLimits {
  /** Longest time of one encoding, in milliseconds. Default 10,000. */
  encodeTimeMs?: number;
  /** Longest time of loading, in milliseconds. Default 60,000. */
  loadTimeMs?: number;
  /** Largest `tokenizer.json`, in bytes or characters. Default 64 MiB, twice the largest that is known. */
  sourceSize?: number;
  /** Longest text of one encoding, in UTF-16 units. Default 2^24. */
  textLength?: number;
}

export const defaultLimits: Readonly<Required<TokenizerLimits>> = {
  encodeTimeMs: 10_000,
  loadTimeMs: 60_000,
  sourceSize: 64 * 2 ** 20,
  textLength: 2 ** 24,
};
