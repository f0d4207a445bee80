import { isQuantizedDtype, type WeightDtype, weightDtypes } from '@hearth/core';
import type { Checkpoint, CheckpointTensor } from './checkpoint.ts';
import type { TensorNames } from './gguf/architecture.ts';
import { architectureOf } from './gguf/architectures.ts';
import type { GgufMetadataToWrite } from './gguf/metadata-encoder.ts';
import { toGgufName } from './gguf/tensor-names.ts';
import { type WriteGgufModelOptions, writeGguf } from './gguf/write-gguf.ts';
import { type HuggingFaceModel, writeHuggingFaceDirectory } from './hugging-face/write-directory.ts';
import type { WriteShardsOptions } from './safetensors/write-shards.ts';
import { encodeElements } from './tensor/encode.ts';
import { readTensorChunks } from './tensor/read-tensor.ts';
import type { TensorToWrite } from './tensor/tensor-to-write.ts';

export interface ConvertToHuggingFaceOptions
  extends WriteShardsOptions,
    Pick<HuggingFaceModel, 'tokenizerJson' | 'tokenizerConfig' | 'generationConfig' | 'chatTemplate'> {
  /** Type of all weights: `f32` by default. Rounding from f32 is to nearest even. */
  readonly dtype?: 'f32' | 'f16' | 'bf16';
}

const torchDtypes = { f32: 'float32', f16: 'float16', bf16: 'bfloat16' } as const;

/**
 * Writes the weights of a checkpoint, dequantized, as a Hugging Face directory. Tokenizer, generation config and chat
 * template are those of the checkpoint where it has them as files; a GGUF file has no tokenizer.json, so pass one through
 * where it is needed.
 */
export async function convertToHuggingFaceDirectory(
  checkpoint: Checkpoint,
  directory: string,
  options: ConvertToHuggingFaceOptions = {},
): Promise<void> {
  const { dtype = 'f32', tokenizerJson, tokenizerConfig, generationConfig, chatTemplate, ...writeOptions } = options;
  const source = checkpoint.tokenizer?.kind === 'tokenizer-json' ? checkpoint.tokenizer : undefined;
  const { jinjaFile, ggufTemplate } = checkpoint.chatTemplate;
  const template = chatTemplate ?? jinjaFile ?? (tokenizerConfig?.chat_template ? undefined : ggufTemplate);
  const json = tokenizerJson ?? source?.json;
  const words = tokenizerConfig ?? source?.config;
  const generation = generationConfig ?? checkpoint.generationConfig;
  await writeHuggingFaceDirectory(
    directory,
    {
      config: { ...checkpoint.config, torch_dtype: torchDtypes[dtype] },
      tensors: [...checkpoint.tensors.values()].map((tensor) => reencoded(tensor, dtype, options.signal)),
      ...(json !== undefined && { tokenizerJson: json }),
      ...(words !== undefined && { tokenizerConfig: words }),
      ...(generation !== undefined && { generationConfig: generation }),
      ...(template !== undefined && { chatTemplate: template }),
    },
    writeOptions,
  );
}

export interface ConvertToGgufOptions extends WriteGgufModelOptions {
  /** Type of the matrices; those whose columns do not fit its blocks become f16. Vectors stay f32. */
  readonly dtype: WeightDtype;
  /** Type of the embedding table and the head: `dtype` by default. */
  readonly embeddingDtype?: WeightDtype;
  readonly name?: string;
  /** Tokenizer and whatever else, for example `metadataOf(header, 'tokenizer.')` of a file that was read. */
  readonly metadata?: GgufMetadataToWrite;
}

/**
 * Writes a checkpoint as a GGUF file, quantized with the encoders of this package. A head tied to the embedding is left out.
 * @returns the paths written, several with `maxShardBytes`
 * @throws UnsupportedError that names the field of the config, or the tensor, which GGUF has no way to say
 */
export async function convertToGguf(
  checkpoint: Checkpoint,
  path: string,
  { dtype, embeddingDtype = dtype, name = checkpoint.name, metadata, ...options }: ConvertToGgufOptions,
): Promise<string[]> {
  const { config } = checkpoint;
  const { tensors: names, tiedByDefault } = architectureOf(config);
  const isTied = config.tie_word_embeddings ?? tiedByDefault;
  const tensors = [...checkpoint.tensors.values()]
    .filter((tensor) => !(tensor.name === 'lm_head.weight' && isTied))
    .map((tensor) => {
      const storedName = toGgufName(names, tensor.name)?.storedName;
      const isTable = storedName === 'token_embd.weight' || storedName === 'output.weight';
      const isFloat = storedName !== undefined && names.floatTensors?.test(storedName);
      const { kept, ...form } = asGgufKeepsIt(tensor, names);
      const type = isFloat ? 'f32' : storageType(kept, isTable ? embeddingDtype : dtype);
      return { ...reencoded(kept, type, options.signal), shape: tensor.shape, ...form };
    });
  return writeGguf(path, { config, name, tensors, ...(metadata && { metadata }) }, options);
}

/** A tensor turned round where GGUF has it so, before it is quantized; and a number that a GGUF file added is not rounded off and on again. */
function asGgufKeepsIt(
  tensor: CheckpointTensor,
  names: TensorNames,
): { readonly kept: CheckpointTensor; readonly transposed?: true; readonly plus?: number } {
  const { plus, transposed, ...kept } = tensor;
  const module = toGgufName(names, tensor.name)?.module;
  if (module && names.transposedModules?.has(module) && tensor.shape.length === 2) {
    const turned = { ...kept, shape: [...tensor.shape].reverse() };
    return { kept: transposed ? turned : { ...turned, transposed: true }, transposed: true };
  }
  return plus === undefined || plus !== names.normPlus ? { kept: tensor } : { kept, plus };
}

function storageType({ shape }: CheckpointTensor, dtype: WeightDtype): WeightDtype {
  if (shape.length < 2) return 'f32';
  const fits = shape.at(-1)! % weightDtypes[dtype].blockElements === 0;
  return fits || !isQuantizedDtype(dtype) ? dtype : 'f16';
}

/** The tensor in another type, decoded and encoded piece by piece. */
function reencoded(tensor: CheckpointTensor, dtype: WeightDtype, signal: AbortSignal | undefined): TensorToWrite {
  return {
    name: tensor.name,
    dtype,
    shape: tensor.shape,
    async *data() {
      for await (const values of readTensorChunks(tensor, signal ? { signal } : {}))
        yield encodeElements(dtype, values);
    },
  };
}
