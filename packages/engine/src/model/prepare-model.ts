import { type Checkpoint, openCheckpoint, weightSource } from '@hearth/checkpoint';
import { InvalidModelError, throwIfAborted, UnsupportedError, type WeightDtype, type WeightSource } from '@hearth/core';
import { buildModel, checkTensors, type Model as ModelDefinition } from '@hearth/models';
import { loadTokenizer } from '@hearth/tokenizer';
import { loadChatFormat } from '../chat/load-chat-format.ts';
import { disposeAll } from './dispose-all.ts';
import { eosTokenIds } from './eos-token-ids.ts';
import { defaultContextLength, type PrepareModelOptions, resolveContextLength } from './load-options.ts';
import type { ModelHeader } from './model-info.ts';
import { PreparedModel } from './prepared-model.ts';

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
    const sources = weightSources(checkpoint, definition, backend.info.weightDtypes);
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
      header: describe(checkpoint, definition, sources, contextLength),
    });
  } catch (error) {
    await disposeAll(disposers).catch(() => {});
    throw error;
  }
}

/** The bytes of every weight, each in a type that the backend computes with. */
function weightSources(
  checkpoint: Checkpoint,
  definition: ModelDefinition,
  dtypes: readonly WeightDtype[],
): ReadonlyMap<string, WeightSource> {
  const sources = new Map<string, WeightSource>();
  for (const spec of definition.weights) {
    const { name } = spec;
    const source = weightSource(checkpoint.tensors.get(name)!, spec);
    if (!dtypes.includes(source.dtype)) {
      throw new UnsupportedError(`${name} is stored as ${source.dtype}; this backend takes ${dtypes.join(', ')}.`, {
        details: { tensor: name, dtype: source.dtype, supported: dtypes },
      });
    }
    sources.set(name, source);
  }
  return sources;
}

function describe(
  checkpoint: Checkpoint,
  definition: ModelDefinition,
  sources: ReadonlyMap<string, WeightSource>,
  contextLength: number,
): ModelHeader {
  const weightDtypes: Partial<Record<WeightDtype, { tensors: number; bytes: number }>> = {};
  let numParameters = 0;
  for (const { dtype, shape, byteLength } of sources.values()) {
    weightDtypes[dtype] ??= { tensors: 0, bytes: 0 };
    weightDtypes[dtype].tensors++;
    weightDtypes[dtype].bytes += byteLength;
    numParameters += shape.reduce((product, size) => product * size, 1);
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
