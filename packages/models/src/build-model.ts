import { InvalidArgumentError, InvalidModelError, type Program, UnsupportedError, type WeightSpec } from '@hearth/core';
import { type LowerOptions, lower } from '@hearth/graph';
import { ConfigReader } from './blocks/config-reader.ts';
import type { ModelDefinition } from './model-family.ts';
import { modelFamilies } from './registry.ts';

/** A model that was built from its config: what to load, what to run, and what it can do. */
export interface Model extends ModelDefinition {
  readonly architecture: string;
  readonly hiddenSize: number;
  readonly vocabSize: number;
  /** Positions that the model can address, whatever context length was configured. */
  readonly contextLength: number;
  /** The weights that its programs read; hand them to `checkTensors` and `Backend.loadWeights`. */
  readonly weights: readonly WeightSpec[];
  /** Lowers the graph. Pass `captures` to copy boundaries out of each step. */
  createProgram(options?: LowerOptions): Program;
}

export interface BuildModelOptions {
  /** Names of the tensors in the checkpoint. They settle what a config leaves open, such as a tied head. */
  readonly tensorNames?: Iterable<string> | undefined;
  /**
   * The longest sequence that will be run. Rotary scaling that depends on the length (`dynamic`, `longrope`) is fixed for it, so
   * that chunks and neighbours cannot change a result. More than the model can address counts as that. Default:
   * `max_position_embeddings` of the config.
   */
  readonly contextLength?: number | undefined;
}

/**
 * Builds the model that a config.json describes.
 *
 * @param configJson the parsed file; untrusted, so everything in it is checked
 * @throws UnsupportedError for an architecture or a setting that Hearth does not do, by name
 * @throws InvalidModelError for values that make no sense, by key
 * @throws InvalidArgumentError for a contextLength that is not a whole number from 1 on
 */
export async function buildModel(configJson: unknown, options: BuildModelOptions = {}): Promise<Model> {
  const architecture = readArchitecture(configJson);
  const loadFamily = Object.hasOwn(modelFamilies, architecture) ? modelFamilies[architecture] : undefined;
  if (!loadFamily) {
    throw new UnsupportedError(
      `The architecture ${architecture} is not supported. Supported are: ${Object.keys(modelFamilies).join(', ')}.`,
      { details: { architecture, supported: Object.keys(modelFamilies) } },
    );
  }
  const family = await loadFamily();
  checkModelType(configJson, architecture, family.modelType);
  const tensorNames = options.tensorNames && new Set(options.tensorNames);
  const hasTensor = tensorNames && ((name: string) => tensorNames.has(name));
  const definition = family.build(configJson, { hasTensor, contextLength: options.contextLength });
  const { hiddenSize, vocabSize, contextLength, weights } = definition.graph;
  checkContextLength(options.contextLength, contextLength);
  return {
    ...definition,
    architecture,
    hiddenSize,
    vocabSize,
    contextLength,
    weights,
    createProgram: (lowerOptions) => lower(definition.graph, lowerOptions),
  };
}

function checkContextLength(contextLength: number | undefined, longest: number): void {
  if (contextLength === undefined || (Number.isSafeInteger(contextLength) && contextLength >= 1)) return;
  throw new InvalidArgumentError(
    `contextLength must be a whole number from 1 to ${longest} (what the model was made for), got ${String(contextLength)}.`,
    { details: { field: 'contextLength', least: 1, most: longest, received: contextLength } },
  );
}

/** Transformers goes by `model_type` and Hearth by `architectures`: where they part, one of the two would run another network. */
function checkModelType(configJson: unknown, architecture: string, expected: string): void {
  const config = new ConfigReader(configJson);
  const modelType = config.string('model_type', expected);
  if (modelType === expected) return;
  config.fail('model_type', `"${expected}", because architectures says ${architecture}`);
}

function readArchitecture(configJson: unknown): string {
  const architectures = new ConfigReader(configJson).raw('architectures');
  const [first, ...others] = Array.isArray(architectures) ? architectures : [];
  if (typeof first !== 'string' || others.length > 0) {
    throw new InvalidModelError(
      'architectures in config.json must be a list of one name, such as ["LlamaForCausalLM"]. Is this the config of a language model?',
      { details: { architectures } },
    );
  }
  return first;
}
