import { UnsupportedError } from '@hearth/core';
import type { GgufArchitecture } from './architecture.ts';
import { gemma2 } from './families/gemma2.ts';
import { gemma3 } from './families/gemma3.ts';
import { gpt2 } from './families/gpt2.ts';
import { llama } from './families/llama.ts';
import { phi3 } from './families/phi3.ts';
import { qwen2 } from './families/qwen2.ts';
import { qwen3 } from './families/qwen3.ts';
import { qwen3moe } from './families/qwen3moe.ts';

const architectures: readonly GgufArchitecture[] = [llama, qwen2, qwen3, qwen3moe, gpt2, gemma2, gemma3, phi3];

/** @throws UnsupportedError that names the architecture and those that are known */
export function findArchitecture(name: string, path: string): GgufArchitecture {
  const architecture = architectures.find((each) => each.name === name);
  if (architecture) return architecture;
  throw new UnsupportedError(
    `${path}: the GGUF architecture "${name}" is not supported; supported are: ${architectures.map((each) => each.name).join(', ')}.`,
    { details: { path, architecture: name } },
  );
}

/**
 * The architecture that a config.json is written as. A config without model_type is taken for a Llama, unless `architectures`
 * says otherwise.
 * @throws UnsupportedError that names the model_type and those that are known
 */
export function architectureOf(config: Readonly<Record<string, unknown>>): GgufArchitecture {
  const modelType = config.model_type ?? 'llama';
  const named = Array.isArray(config.architectures) ? String(config.architectures[0]) : 'LlamaForCausalLM';
  if (config.model_type == null && named !== 'LlamaForCausalLM') {
    throw new UnsupportedError(
      `The config has no model_type, so what to write a ${named.slice(0, 80)} as is not known. Add it.`,
      { details: { architectures: config.architectures } },
    );
  }
  const architecture = architectures.find(({ modelTypes }) => modelTypes.includes(modelType as string));
  if (architecture) return architecture;
  throw new UnsupportedError(
    `Writing GGUF files of model_type "${modelType}" is not supported; supported are: ${architectures.flatMap(({ modelTypes }) => modelTypes).join(', ')}.`,
    { details: { modelType } },
  );
}
