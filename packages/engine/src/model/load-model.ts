import { checkLoadModelOptionNames, type LoadModelOptions } from './load-options.ts';
import type { Model } from './model.ts';
import { prepareModel } from './prepare-model.ts';

/**
 * Loads a model: headers, tokenizer, weights, in this order, each reported by `onProgress`. The event loop stays free
 * throughout with a backend that works off its thread.
 *
 * @param path a .gguf or .safetensors file, or a Hugging Face directory
 * @throws InvalidModelError | UnsupportedError | InvalidArgumentError | LimitExceededError | AbortError
 */
export async function loadModel(path: string | URL, options: LoadModelOptions): Promise<Model> {
  checkLoadModelOptionNames(options);
  const prepared = await prepareModel(path, options);
  try {
    return await prepared.loadWeights(options);
  } catch (error) {
    await prepared.dispose();
    throw error;
  }
}
