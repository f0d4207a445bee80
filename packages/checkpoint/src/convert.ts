import { type PlainDtype, type Quantizer, weightByteLength } from '@hearth/core';
import type { Checkpoint, CheckpointTensor } from './checkpoint.ts';
import type { TensorNames } from './gguf/architecture.ts';
import { architectureOf } from './gguf/architectures.ts';
import { ggufFileTypes } from './gguf/file-type.ts';
import { type GgufMetadataToWrite, type GgufTypedValue, metadataOf } from './gguf/metadata-encoder.ts';
import { toGgufName } from './gguf/tensor-names.ts';
import { type WriteGgufModelOptions, writeGguf } from './gguf/write-gguf.ts';
import { type HuggingFaceModel, writeHuggingFaceDirectory } from './hugging-face/write-directory.ts';
import { plannedDtypes, type QuantizePlan } from './quantize/quantize-plan.ts';
import { reencodedTensor } from './quantize/reencoded-tensor.ts';
import { requireStorageDtype } from './quantize/storage-dtype.ts';
import { typescriptQuantizer } from './quantize/typescript-quantizer.ts';
import type { WriteShardsOptions } from './safetensors/write-shards.ts';
import { type TensorToWrite, tensorPieces } from './tensor/tensor-to-write.ts';

type OnProgress = (progress: { readonly doneBytes: number; readonly totalBytes: number }) => void;

export interface ConvertToHuggingFaceOptions
  extends WriteShardsOptions,
    Pick<HuggingFaceModel, 'tokenizerJson' | 'tokenizerConfig' | 'generationConfig' | 'chatTemplate'> {
  /** Type of all weights: `f32` by default. Rounding from f32 is to nearest even. */
  readonly dtype?: PlainDtype;
  /** Called now and then with bytes of tensors written so far and in all. */
  readonly onProgress?: OnProgress;
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
  const { dtype = 'f32', tokenizerJson, tokenizerConfig, generationConfig, chatTemplate, ...others } = options;
  const { onProgress, ...writeOptions } = others;
  const source = checkpoint.tokenizer?.kind === 'tokenizer-json' ? checkpoint.tokenizer : undefined;
  const { jinjaFile, ggufTemplate } = checkpoint.chatTemplate;
  const template = chatTemplate ?? jinjaFile ?? (tokenizerConfig?.chat_template ? undefined : ggufTemplate);
  const json = tokenizerJson ?? source?.json;
  const words = tokenizerConfig ?? source?.config;
  const generation = generationConfig ?? checkpoint.generationConfig;
  const tensors = [...checkpoint.tensors.values()].map((tensor) =>
    reencodedTensor(tensor, dtype, typescriptQuantizer, options.signal),
  );
  await writeHuggingFaceDirectory(
    directory,
    {
      config: { ...checkpoint.config, torch_dtype: torchDtypes[dtype] },
      tensors: onProgress ? reportingProgress(tensors, onProgress) : tensors,
      ...(json !== undefined && { tokenizerJson: json }),
      ...(words !== undefined && { tokenizerConfig: words }),
      ...(generation !== undefined && { generationConfig: generation }),
      ...(template !== undefined && { chatTemplate: template }),
    },
    writeOptions,
  );
}

export interface ConvertToGgufOptions extends WriteGgufModelOptions, QuantizePlan {
  readonly name?: string;
  /** Tokenizer and whatever else; those of a checkpoint that is a GGUF file are kept unless this says otherwise. */
  readonly metadata?: GgufMetadataToWrite;
  /** `typescriptQuantizer` by default; backends bring faster ones, which give the same bytes. */
  readonly quantizer?: Quantizer;
  /** Called now and then with bytes of tensors written so far and in all. */
  readonly onProgress?: OnProgress;
}

/**
 * Writes a checkpoint as a GGUF file, in the types of the plan. Tensors that have their type already are copied as they are;
 * vectors, routers and learned positions are f32; a head tied to the embedding is left out.
 * @returns the paths written, several with `maxShardBytes`
 * @throws UnsupportedError that names the field of the config, or the tensor, which GGUF has no way to say
 * @throws InvalidArgumentError for a rule that fits nothing, InvalidModelError for values that a type cannot hold
 */
export async function convertToGguf(
  checkpoint: Checkpoint,
  path: string,
  options: ConvertToGgufOptions,
): Promise<string[]> {
  const { config } = checkpoint;
  const { quantizer = typescriptQuantizer, signal, onProgress, name = checkpoint.name } = options;
  const { tensors: names, tiedByDefault } = architectureOf(config);
  const isTied = config.tie_word_embeddings ?? tiedByDefault;
  const kept = [...checkpoint.tensors.values()]
    .filter((tensor) => !(tensor.name === 'lm_head.weight' && isTied) && !names.ignoredHuggingFace?.test(tensor.name))
    .map((tensor) => ({ tensor, ...asGgufKeepsIt(tensor, names) }));
  const dtypes = plannedDtypes(
    kept.map((each) => each.kept),
    options,
  );
  const tensors = kept.map(({ tensor, kept, ...form }) => {
    return { ...reencodedTensor(kept, dtypes.get(tensor.name)!, quantizer, signal), shape: tensor.shape, ...form };
  });
  const metadata: GgufMetadataToWrite = new Map<string, GgufTypedValue | string | boolean>([
    ['general.file_type', { type: 'u32', value: ggufFileTypes[options.dtype] }],
    ...ggufMetadataKept(checkpoint),
    ...(options.metadata ?? []),
  ]);
  return writeGguf(
    path,
    { config, name, tensors: onProgress ? reportingProgress(tensors, onProgress) : tensors, metadata },
    options,
  );
}

/** What says nothing of the weights or the network: the tokenizer, licence and author of a GGUF file. */
function ggufMetadataKept({ tokenizer }: Checkpoint): Iterable<[string, GgufTypedValue]> {
  if (tokenizer?.kind !== 'gguf') return [];
  const ofThisFile = /^general\.(architecture|name|alignment|file_type|quantization_version)$/;
  return [...metadataOf(tokenizer)].filter(([key]) => /^(tokenizer|general)\./.test(key) && !ofThisFile.test(key));
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

/** The same tensors, each telling what a writer has taken of it. */
function reportingProgress(tensors: readonly TensorToWrite[], onProgress: OnProgress): TensorToWrite[] {
  let doneBytes = 0;
  const byteLength = ({ dtype, shape }: TensorToWrite) => {
    return weightByteLength(
      requireStorageDtype(dtype),
      shape.reduce((product, size) => product * size, 1),
    );
  };
  const totalBytes = tensors.reduce((sum, tensor) => sum + byteLength(tensor), 0);
  return tensors.map((tensor) => ({
    ...tensor,
    async *data() {
      for await (const piece of tensorPieces(tensor, byteLength(tensor), undefined)) {
        yield piece;
        doneBytes += piece.length;
        onProgress({ doneBytes, totalBytes });
      }
    },
  }));
}
