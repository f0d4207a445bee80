import { join } from 'node:path';
import {
  convertToGguf,
  encodeElements,
  openCheckpoint,
  type StorageDtype,
  type TensorToWrite,
  writeHuggingFaceDirectory,
} from '@hearth/checkpoint';
import type { WeightDtype } from '@hearth/core';
import { quantizationConfigs, quantizedTensors, type SafetensorsMethod } from './quantized-tensors.ts';
import type { PlainTensor } from './random-tensors.ts';

/** A form in which weights lie on disk: a column of the table. */
export interface FormatSample {
  readonly label: string;
  readonly container: 'safetensors' | 'GGUF';
  /** Types that the matrices then have for the backends; most of them one of these. */
  readonly dtypes: readonly WeightDtype[];
  /** Writes the model into a folder and gives the path to open. */
  write(config: Readonly<Record<string, unknown>>, tensors: readonly PlainTensor[], folder: string): Promise<string>;
}

export const formatSamples: readonly FormatSample[] = [
  plain('F32', 'f32'),
  plain('F16', 'f16'),
  plain('BF16', 'bf16'),
  quantized('FP8', 'fp8'),
  quantized('AWQ', 'awq'),
  quantized('GPTQ', 'gptq'),
  quantized('GPTQ act-order', 'gptq-act-order'),
  ...(
    [
      'f32',
      'f16',
      'bf16',
      'q8_0',
      'q4_0',
      'q4_1',
      'q5_0',
      'q5_1',
      'iq4_nl',
      'q2_k',
      'q3_k',
      'q4_k',
      'q5_k',
      'q6_k',
      'iq4_xs',
    ] as const
  ).map(gguf),
];

function plain(label: string, dtype: 'f32' | 'f16' | 'bf16'): FormatSample {
  return {
    label,
    container: 'safetensors',
    dtypes: [dtype],
    async write(config, tensors, folder) {
      const path = join(folder, 'model');
      await writeHuggingFaceDirectory(path, { config, tensors: tensors.map((tensor) => encoded(tensor, dtype)) });
      return path;
    },
  };
}

/** The linear layers quantized; embeddings, head, norms and routers in f16. */
function quantized(label: string, method: SafetensorsMethod): FormatSample {
  return {
    label,
    container: 'safetensors',
    dtypes: [method === 'fp8' ? 'f8_e4m3' : 'int4_g128'],
    async write(config, tensors, folder) {
      const path = join(folder, 'model');
      const written = tensors.flatMap((tensor): TensorToWrite[] =>
        tensor.shape.length === 2 && !/embed_tokens|wte|wpe|lm_head|mlp\.gate\.weight/.test(tensor.name)
          ? quantizedTensors(method, method === 'fp8' ? tensor : uprightConv1d(tensor))
          : [encoded(tensor, 'f16')],
      );
      const quantization_config = quantizationConfigs[method];
      await writeHuggingFaceDirectory(path, { config: { ...config, quantization_config }, tensors: written });
      return path;
    },
  };
}

function gguf(dtype: StorageDtype): FormatSample {
  return {
    label: dtype.toUpperCase(),
    container: 'GGUF',
    dtypes: [dtype],
    async write(config, tensors, folder) {
      const checkpoint = await openCheckpoint(await plain('F32', 'f32').write(config, tensors, folder));
      try {
        const path = join(folder, 'model.gguf');
        await convertToGguf(checkpoint, path, { dtype });
        return path;
      } finally {
        await checkpoint.close();
      }
    },
  };
}

/** Conv1D layers of GPT-2 are [columns, rows]; AWQ and GPTQ turn them round before they pack them. */
function uprightConv1d(tensor: PlainTensor): PlainTensor {
  return /\.c_(attn|proj|fc)\.weight$/.test(tensor.name) ? { ...tensor, shape: [...tensor.shape].reverse() } : tensor;
}

function encoded({ name, shape, values }: PlainTensor, dtype: 'f32' | 'f16' | 'bf16'): TensorToWrite {
  return { name, dtype, shape, data: () => encodeElements(dtype, values) };
}
