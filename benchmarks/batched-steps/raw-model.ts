import type { Backend, CompileOptions, Executable, WeightDtype } from '@hearth/core';
import { loadModel, type StorageTypes } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';

/** A model without its engine: the executable, to run steps that no scheduler chose. */
export interface RawModel {
  readonly executable: Executable;
  readonly types: StorageTypes;
  readonly variant: string;
  dispose(): Promise<void>;
}

/** Loads a file as the engine does and takes the executable that it compiles, with room for such steps. */
export async function loadRawModel(
  path: string,
  numThreads: number,
  room: { readonly maxTokens: number; readonly numBlocks: number; readonly contextLength: number },
): Promise<RawModel> {
  const backend = await createCpuBackend({ numThreads });
  let executable: Executable | undefined;
  let weightDtypes: WeightDtype[] = [];
  const watched: Backend = {
    info: backend.info,
    fileMapper: backend.fileMapper,
    ...(backend.quantizer && { quantizer: backend.quantizer }),
    loadWeights: (specs, sources, options) => {
      weightDtypes = specs.map(({ name }) => sources.get(name)!.dtype);
      return backend.loadWeights(specs, sources, options);
    },
    compile: async (program, weights, { cache }) => {
      const options: CompileOptions = {
        maxTokens: room.maxTokens,
        maxOutputRows: room.maxTokens,
        cache: { ...cache, numBlocks: room.numBlocks },
      };
      executable = await backend.compile(program, weights, options);
      return executable;
    },
    dispose: () => backend.dispose(),
  };
  const model = await loadModel(path, { backend: watched, contextLength: room.contextLength, ownsBackend: true });
  const { program, cache } = executable!;
  // Pages that were never written to are one page of zeros, which every cache holds.
  await cache.zeroBlocks(Int32Array.from({ length: room.numBlocks }, (_, i) => i));
  const elements = program.cacheLayers.map(({ numKvHeads, headDim }) => numKvHeads * headDim);
  const bytesPerElement = cache.bytesPerBlock / cache.blockSize / elements.reduce((sum, each) => sum + each, 0);
  return {
    executable: executable!,
    types: { weightDtypes, cacheBytesPerPosition: elements.map((each) => each * bytesPerElement) },
    variant: backend.info.variant,
    dispose: () => model.dispose(),
  };
}
