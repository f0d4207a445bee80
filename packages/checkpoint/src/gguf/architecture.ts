import type { MappedFile } from '@hearth/core';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import type { ConfigFields } from './config-fields.ts';
import type { GgufTensor } from './gguf.ts';
import type { MetadataBuilder } from './metadata-builder.ts';
import type { MetadataFields } from './metadata-fields.ts';

/** One family of models in GGUF: what its tensors are called, and what its metadata say of the network. */
export interface GgufArchitecture {
  /** `general.architecture`, and the prefix of its metadata keys. */
  readonly name: string;
  /** `model_type` of the configs that are written as this architecture. */
  readonly modelTypes: readonly string[];
  readonly tensors: TensorNames;
  /** Whether a config that does not say so means a head that is the embedding table (the default of the config's class). */
  readonly tiedByDefault: boolean;
  /**
   * config.json, with the names and meanings of Transformers. Decimals are the shortest that name the stored f32.
   * @throws InvalidModelError for missing or senseless values, UnsupportedError for what config.json cannot say; both name the key
   */
  readConfig(contents: GgufContents): Promise<Record<string, unknown>>;
  /**
   * The reverse: puts the keys of this architecture, and gives the tensors that say what no key says.
   * @throws InvalidArgumentError for a missing number, UnsupportedError for what GGUF cannot say; both name the field
   */
  writeMetadata(config: ConfigFields, metadata: MetadataBuilder): readonly TensorToWrite[];
}

/** How tensors are called in a GGUF file and in a Hugging Face checkpoint, and how differently they are kept. */
export interface TensorNames {
  /** Tensors outside the layers, GGUF to Hugging Face. */
  readonly globals: ReadonlyMap<string, string>;
  /** What comes before the number of a layer: `model.layers`. */
  readonly layerPrefix: string;
  /** Some Hugging Face checkpoints leave out this start of their names. */
  readonly optionalPrefix?: string;
  /** Modules within a layer, GGUF (`attn_q`) to Hugging Face (`self_attn.q_proj`). */
  readonly modules: ReadonlyMap<string, string>;
  /** Hugging Face modules whose rows are stored in rope pairs (see rope-rows.ts), and which head count cuts them. */
  readonly ropeModules?: ReadonlyMap<string, 'num_attention_heads' | 'num_key_value_heads'>;
  /** Modules that GGUF keeps for all experts in one tensor: GGUF (`ffn_up_exps`) to what follows `mlp.experts.N.` (`up_proj`). */
  readonly expertModules?: ReadonlyMap<string, string>;
  /** Hugging Face modules whose weights GGUF keeps the other way round. */
  readonly transposedModules?: ReadonlySet<string>;
  /** What GGUF adds to the weights of norms. */
  readonly normPlus?: number;
  /** Tensors of a GGUF file that hold nothing which the config does not hold; they are left out. */
  readonly ignoredStored?: RegExp;
  /** Tensors of a Hugging Face checkpoint that are no weights; they are not written. */
  readonly ignoredHuggingFace?: RegExp;
}

/** A tensor of a GGUF model, and which of its files it lies in. */
export interface PlacedTensor extends GgufTensor {
  readonly file: MappedFile;
}

/** What a config is made from: all parts of a model, opened. */
export interface GgufContents {
  readonly path: string;
  readonly fields: MetadataFields;
  /** By GGUF name. */
  readonly tensors: ReadonlyMap<string, PlacedTensor>;
}
