import {
  type Checkpoint,
  type CheckpointTensor,
  type GgufHeader,
  type GgufTensor,
  openCheckpoint,
  readGguf,
  weightSource,
} from '@hearth/checkpoint';
import { UnsupportedError } from '@hearth/core';
import { buildModel, checkTensors } from '@hearth/models';
import { loadTokenizer } from '@hearth/tokenizer';

export interface TensorFacts {
  readonly name: string;
  readonly storedName: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly byteLength: number;
}

/** What `hearth inspect` knows of a model from its headers alone. */
export interface Inspection {
  readonly path: string;
  readonly name: string;
  readonly format: string;
  readonly sizeBytes: number;
  readonly architecture: string;
  /** Whether this version can run it; a sentence that says what is missing otherwise. */
  readonly runs: true | string;
  readonly numParameters: number;
  /** config.json, or the same made from GGUF metadata. Null when the architecture is not known. */
  readonly config: Readonly<Record<string, unknown>> | null;
  /** By type, most bytes first. */
  readonly dtypes: readonly { readonly dtype: string; readonly tensors: number; readonly bytes: number }[];
  readonly tokenizer: TokenizerFacts | string;
  readonly chatTemplate: string | null;
  readonly tensors: readonly TensorFacts[];
  readonly warnings: readonly string[];
}

export interface TokenizerFacts {
  readonly kind: string;
  readonly vocabSize: number;
  readonly bosTokenId: number | null;
  readonly eosTokenIds: readonly number[];
  readonly specialTokens: readonly { readonly id: number; readonly content: string }[];
}

/**
 * Reads the headers of a model file or directory. A GGUF file of an architecture that Hearth does not run is still shown.
 * @throws InvalidModelError when the file is damaged
 */
export async function inspectModel(path: string, signal: AbortSignal): Promise<Inspection> {
  let checkpoint: Checkpoint;
  try {
    checkpoint = await openCheckpoint(path, { signal });
  } catch (error) {
    if (!(error instanceof UnsupportedError) || !path.toLowerCase().endsWith('.gguf')) throw error;
    return describeRawGguf(path, await readGguf(path, { signal }), error.message);
  }
  try {
    const tensors = [...checkpoint.tensors.values()];
    const tokenizer = await describeTokenizer(checkpoint, signal);
    return {
      path,
      name: checkpoint.name,
      format: checkpoint.format,
      sizeBytes: checkpoint.sizeBytes,
      architecture: String((checkpoint.config.architectures as unknown[] | undefined)?.[0] ?? 'unknown'),
      runs: (await whyItDoesNotRun(checkpoint)) ?? (typeof tokenizer === 'string' ? tokenizer : true),
      numParameters: countElements(tensors),
      config: checkpoint.config,
      dtypes: byDtype(tensors),
      tokenizer,
      chatTemplate: templateText(checkpoint),
      tensors: tensors.map(({ name, storedName, dtype, shape, byteLength }) => {
        return { name, storedName, dtype, shape, byteLength };
      }),
      warnings: checkpoint.warnings,
    };
  } finally {
    await checkpoint.close();
  }
}

function describeRawGguf(path: string, header: GgufHeader, reason: string): Inspection {
  const { metadata, tensors } = header;
  const template = metadata.get('tokenizer.chat_template');
  return {
    path,
    name: String(metadata.get('general.name') ?? 'unnamed'),
    format: `gguf v${header.version}`,
    sizeBytes: tensors.reduce((sum, tensor) => sum + tensor.byteLength, header.dataOffset),
    architecture: String(metadata.get('general.architecture') ?? 'unknown'),
    runs: reason,
    numParameters: countElements(tensors),
    config: null,
    dtypes: byDtype(tensors),
    tokenizer: String(metadata.get('tokenizer.ggml.model') ?? 'none'),
    chatTemplate: typeof template === 'string' ? template : null,
    tensors: tensors.map((tensor) => ({ ...tensor, storedName: tensor.name })),
    warnings: header.warnings,
  };
}

/** Everything that loading checks before it reads weights; null when nothing is wrong. */
async function whyItDoesNotRun(checkpoint: Checkpoint): Promise<string | null> {
  try {
    const model = await buildModel(checkpoint.config, { tensorNames: checkpoint.tensors.keys() });
    checkTensors(model, checkpoint.tensors.values());
    // Refuses tensors of a type that Hearth does not compute with, by name.
    for (const spec of model.weights) weightSource(checkpoint.tensors.get(spec.name)!, spec);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

async function describeTokenizer(checkpoint: Checkpoint, signal: AbortSignal): Promise<TokenizerFacts | string> {
  if (checkpoint.tokenizer === null) return 'There is no tokenizer.json.';
  try {
    const tokenizer = await loadTokenizer(checkpoint.tokenizer, { signal });
    const { vocabSize, bosTokenId = null, eosTokenIds, specialTokens } = tokenizer;
    await tokenizer.dispose();
    return { kind: checkpoint.tokenizer.kind, vocabSize, bosTokenId, eosTokenIds, specialTokens };
  } catch (error) {
    return (error as Error).message;
  }
}

function templateText(checkpoint: Checkpoint): string | null {
  const { jinjaFile, tokenizerConfig, ggufTemplate } = checkpoint.chatTemplate;
  const text = jinjaFile ?? tokenizerConfig ?? ggufTemplate ?? null;
  return text === null || typeof text === 'string' ? text : JSON.stringify(text, null, 2);
}

function countElements(tensors: readonly (CheckpointTensor | GgufTensor)[]): number {
  return tensors.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0);
}

/** Totals by storage type, the one with the most bytes first. */
export function byDtype(tensors: readonly (CheckpointTensor | GgufTensor)[]): Inspection['dtypes'] {
  const totals = new Map<string, { dtype: string; tensors: number; bytes: number }>();
  for (const { dtype, byteLength } of tensors) {
    const total = totals.get(dtype) ?? { dtype, tensors: 0, bytes: 0 };
    total.tensors++;
    total.bytes += byteLength;
    totals.set(dtype, total);
  }
  return [...totals.values()].sort((a, b) => b.bytes - a.bytes);
}
