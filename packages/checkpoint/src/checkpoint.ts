import type { FileMapper, MappedFile } from '@hearth/core';
import type { GgufMetadata, GgufValueType } from './gguf/gguf.ts';

/** A tensor of a checkpoint under its Hugging Face name: what it is and where its bytes lie. Nothing is read yet. */
export interface CheckpointTensor {
  /** `model.layers.0.self_attn.q_proj.weight` */
  readonly name: string;
  /** The name in the file: `blk.0.attn_q.weight` in GGUF, the same as `name` in safetensors. */
  readonly storedName: string;
  /** Any recognised storage type in lower case: `f32`, `bf16`, `q4_0`, `q6_k`, `i64`, `f8_e4m3` ... */
  readonly dtype: string;
  /** [rows, columns] or [length], as in Hugging Face checkpoints: the last one varies fastest in the file. */
  readonly shape: readonly number[];
  readonly file: MappedFile;
  /** Bytes from the start of the file. */
  readonly offset: number;
  /** Always what dtype and shape ask for, and always within the file. */
  readonly byteLength: number;
  /** Row i of the tensor is row `rowOrder[i]` in the file. Absent when rows are in order. */
  readonly rowOrder?: Uint32Array;
  /** Column i in the file is column `columnOrder[i]` of the tensor. Absent when columns are in order. */
  readonly columnOrder?: Uint32Array;
  /** The file has this added to every element: the tensor's values are the stored ones minus it (GGUF keeps Gemma's norms + 1). */
  readonly plus?: number;
  /** The file keeps the matrix the other way round: [rows, columns] where `shape` says [columns, rows] (GPT-2 in GGUF). */
  readonly transposed?: true;
}

/** What a tokenizer is made from, as it lies in the checkpoint. */
export type TokenizerSource =
  | {
      readonly kind: 'gguf';
      /** All metadata of the file, and how each value is stored. */
      readonly metadata: GgufMetadata;
      readonly metadataTypes: ReadonlyMap<string, GgufValueType>;
    }
  | {
      readonly kind: 'tokenizer-json';
      /** The bytes of tokenizer.json. */
      readonly json: Uint8Array;
      /** tokenizer_config.json, when there is one. */
      readonly config?: Readonly<Record<string, unknown>>;
    };

/** Every place where the checkpoint keeps chat templates; which of them wins is decided by the reader of this. */
export interface ChatTemplateSources {
  /** The text of chat_template.jinja. */
  readonly jinjaFile?: string;
  /** `chat_template` of tokenizer_config.json, unchecked: a string, or a list of { name, template }. */
  readonly tokenizerConfig?: unknown;
  /** `tokenizer.chat_template` of a GGUF file. */
  readonly ggufTemplate?: string;
  /** `tokenizer.chat_template.NAME` of a GGUF file, by NAME. */
  readonly ggufNamedTemplates?: Readonly<Record<string, string>>;
}

/** An open model: its headers are read and checked, its weights are not read yet. */
export interface Checkpoint {
  readonly format: 'gguf' | 'safetensors';
  /** The file or directory that was opened, absolute. */
  readonly path: string;
  /** A name for people: `general.name` of a GGUF file, else the name of the file or directory. */
  readonly name: string;
  /** As in config.json: that of a Hugging Face directory without its `quantization_config`, the same keys made from the metadata for GGUF. */
  readonly config: Readonly<Record<string, unknown>>;
  /** By Hugging Face name. */
  readonly tensors: ReadonlyMap<string, CheckpointTensor>;
  /** Null when a Hugging Face directory has no tokenizer.json. */
  readonly tokenizer: TokenizerSource | null;
  readonly chatTemplate: ChatTemplateSources;
  /** generation_config.json, when there is one. */
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  /** Things a user should know that did not prevent opening, a sentence each. */
  readonly warnings: readonly string[];
  /** The weight files, in a fixed order. */
  readonly files: readonly MappedFile[];
  /** Bytes of the weight files together. */
  readonly sizeBytes: number;
  /** SHA-256 in hex over the header of every weight file (and config.json): the same for the same layout and configuration. */
  readonly headerHash: string;
  /** Closes the files; safe to call twice. Tensors cannot be read afterwards. */
  close(): Promise<void>;
}

export interface OpenCheckpointOptions {
  /** How files are read: `plainFileMapper` by default, or the native mapper. */
  readonly fileMapper?: FileMapper;
  readonly signal?: AbortSignal;
}
