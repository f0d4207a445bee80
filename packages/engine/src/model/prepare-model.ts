import { type Checkpoint, openCheckpoint, weightSource } from '@hearth/checkpoint';
import {
  InvalidModelError,
  throwIfAborted,
  UnsupportedError,
  type WeightDtype,
  type WeightSource,
  weightByteLength,
} from '@hearth/core';
import { buildModel, checkTensors, type Model as ModelDefinition } from '@hearth/models';
import { loadTokenizer } from '@hearth/tokenizer';
import { loadChatFormat } from '../chat/load-chat-format.ts';
import { disposeAll } from './dispose-all.ts';
import { eosTokenIds } from './eos-token-ids.ts';
import { defaultContextLength, type PrepareModelOptions, resolveContextLength } from './load-options.ts';
import type { ModelHeader } from './model-info.ts';
import { PreparedModel } from './prepared-model.ts';
import { planRecodings, type Recodings } from './recodings.ts';

/**
 * Everything about a model short of its weights: headers read and checked, the network built, tokenizer and chat template
 * loaded. Takes a fraction of a second, so requests that cannot work are refused before the weights are touched.
 *
 * @param path a .gguf or .safetensors file, or a Hugging Face directory
 * @throws InvalidModelError | UnsupportedError | InvalidArgumentError | LimitExceededError | AbortError
 */
export async function prepareModel(path: string | URL, options: PrepareModelOptions): Promise<PreparedModel> {
  const { backend, signal, onProgress, limits } = options;
  throwIfAborted(signal);
  onProgress?.({ phase: 'header' });
  const checkpoint = await openCheckpoint(path, { fileMapper: backend.fileMapper, ...(signal && { signal }) });
  const disposers: (() => Promise<void>)[] = [() => checkpoint.close()];
  try {
    const definition = await buildModel(checkpoint.config, {
      tensorNames: checkpoint.tensors.keys(),
      // Rotary scaling may depend on it. The model caps it at what it can address, as resolveContextLength does below.
      contextLength: options.contextLength ?? defaultContextLength,
    });
    checkTensors(definition, checkpoint.tensors.values());
    const sources = weightSources(checkpoint, definition);
    const recodings = planRecodings(sources, options.quantize);
    checkDtypes(sources, recodings, backend.info.weightDtypes);
    const contextLength = resolveContextLength(options.contextLength, definition.contextLength);

    onProgress?.({ phase: 'tokenizer' });
    if (checkpoint.tokenizer === null) {
      throw new InvalidModelError(`${checkpoint.path} has no tokenizer.json, so text cannot be turned into tokens.`, {
        details: { path: checkpoint.path },
      });
    }
    const tokenizer = await loadTokenizer(checkpoint.tokenizer, {
      signal,
      ...(limits?.tokenizer && { limits: limits.tokenizer }),
    });
    disposers.push(() => tokenizer.dispose());
    const chatFormat = await loadChatFormat(checkpoint.chatTemplate, tokenizer, {
      limits: limits?.chatTemplate,
      signal,
    });
    disposers.push(async () => chatFormat.template?.dispose());
    throwIfAborted(signal);
    return new PreparedModel({
      backend,
      checkpoint,
      definition,
      sources,
      recodings,
      tokenizer,
      chatFormat,
      eosTokenIds: eosTokenIds(
        {
          config: definition.eosTokenIds,
          tokenizer: tokenizer.eosTokenIds,
          generationConfig: checkpoint.generationConfig,
        },
        definition.vocabSize,
      ),
      header: describe(checkpoint, definition, { sources, recodings }, contextLength),
    });
  } catch (error) {
    await disposeAll(disposers).catch(() => {});
    throw error;
  }
}

/** The bytes of every weight, as they are stored. */
function weightSources(checkpoint: Checkpoint, definition: ModelDefinition): ReadonlyMap<string, WeightSource> {
  return new Map(definition.weights.map((spec) => [spec.name, weightSource(checkpoint.tensors.get(spec.name)!, spec)]));
}

/** @throws UnsupportedError that names the first weight in a type that the backend does not compute with */
function checkDtypes(
  sources: ReadonlyMap<string, WeightSource>,
  recodings: Recodings,
  supported: readonly WeightDtype[],
): void {
  for (const [name, source] of sources) {
    const dtype = recodings.get(name) ?? source.dtype;
    if (supported.includes(dtype)) continue;
    const verb = recodings.has(name) ? 'is to be' : 'is stored as';
    throw new UnsupportedError(`${name} ${verb} ${dtype}; this backend takes ${supported.join(', ')}.`, {
      details: { tensor: name, dtype, supported },
    });
  }
}

function describe(
  checkpoint: Checkpoint,
  definition: ModelDefinition,
  { sources, recodings }: { readonly sources: ReadonlyMap<string, WeightSource>; readonly recodings: Recodings },
  contextLength: number,
): ModelHeader {
  const weightDtypes: Partial<Record<WeightDtype, { tensors: number; bytes: number }>> = {};
  let numParameters = 0;
  for (const { name, shape, ...source } of sources.values()) {
    const dtype = recodings.get(name) ?? source.dtype;
    const numElements = shape.reduce((product, size) => product * size, 1);
    weightDtypes[dtype] ??= { tensors: 0, bytes: 0 };
    weightDtypes[dtype].tensors++;
    weightDtypes[dtype].bytes += weightByteLength(dtype, numElements);
    numParameters += numElements;
  }
  const { architecture, numLayers, hiddenSize, numHeads, numKvHeads, headDim, vocabSize } = definition;
  return {
    name: checkpoint.name,
    path: checkpoint.path,
    format: checkpoint.format,
    architecture,
    numParameters,
    numLayers,
    hiddenSize,
    numHeads,
    numKvHeads,
    headDim,
    vocabSize,
    maxContextLength: definition.contextLength,
    contextLength,
    weightDtypes,
    fileBytes: checkpoint.sizeBytes,
  };
}
