import { gpt2 } from '../gguf/families/gpt2.ts';
import { toGgufName } from '../gguf/tensor-names.ts';

/**
 * Whether a matrix belongs to a Conv1D layer of GPT-2, which Hugging Face keeps as [columns, rows]. Quantizers turn it round and
 * store it like any other.
 */
export function isConv1d(config: Readonly<Record<string, unknown>>, name: string): boolean {
  if (config.model_type !== 'gpt2') return false;
  const module = toGgufName(gpt2.tensors, name)?.module;
  return module !== null && module !== undefined && (gpt2.tensors.transposedModules?.has(module) ?? false);
}
