import { access, readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { NoChatTemplateError } from '@hearth/chat-format';
import { openCheckpoint, weightSource } from '@hearth/checkpoint';
import type { Backend } from '@hearth/core';
import { buildModel } from '@hearth/models';
import type { LoadWeightsOptions } from '../../model/load-options.ts';
import type { Model } from '../../model/model.ts';
import { PreparedModel } from '../../model/prepared-model.ts';
import { FakeTokenizer } from '../../test/fake-tokenizer.ts';

const fixtures = new URL('../../../../golden/fixtures/', import.meta.url);
const hasOwnWeights = (name: string) => exists(new URL(`${name}/model/`, fixtures));

/** The tiny models of the golden fixtures: one or more of each family. */
export const tinyModels = (await readdir(fixtures)).filter((name) => name.startsWith('tiny-')).sort();

/** Token that ends the text of each of them. */
export const tinyEos = 2;

/** Tokens of each of them. */
export const tinyVocabSize = 288;

/** Positions of their sessions, the same for all runs because rotary scaling may depend on it: blocks of 32. GPT-2 has no more. */
export const tinyContextLength = 96;

export interface TinyModelOptions extends LoadWeightsOptions {
  readonly backend: Backend;
}

/**
 * Loads a tiny model as `loadModel` does, but with the tokenizer of the fakes (bytes), which needs no worker: a load takes
 * milliseconds, so every mix of requests can have a fresh model.
 */
export async function loadTinyModel(name: string, { backend, ...options }: TinyModelOptions): Promise<Model> {
  const checkpoint = await openCheckpoint(fileURLToPath(new URL(`${await weightsOf(name)}/model/`, fixtures)), {
    fileMapper: backend.fileMapper,
  });
  const config = await configOf(name);
  const definition = await buildModel(config ?? checkpoint.config, {
    tensorNames: checkpoint.tensors.keys(),
    contextLength: tinyContextLength,
  });
  const { architecture, numLayers, hiddenSize, numHeads, numKvHeads, headDim, vocabSize } = definition;
  const prepared = new PreparedModel({
    backend,
    checkpoint: { ...checkpoint, ...(config && { config }) },
    definition,
    sources: new Map(
      definition.weights.map((spec) => [spec.name, weightSource(checkpoint.tensors.get(spec.name)!, spec)]),
    ),
    recodings: new Map(),
    tokenizer: new FakeTokenizer(),
    chatFormat: { template: null, problem: new NoChatTemplateError('Tiny models are loaded without a chat template.') },
    eosTokenIds: new Set([tinyEos]),
    header: {
      name,
      path: checkpoint.path,
      format: checkpoint.format,
      architecture,
      numParameters: 0,
      numLayers,
      hiddenSize,
      numHeads,
      numKvHeads,
      headDim,
      vocabSize,
      maxContextLength: definition.contextLength,
      contextLength: tinyContextLength,
      weightDtypes: {},
      fileBytes: checkpoint.sizeBytes,
    },
  });
  return prepared.loadWeights(options);
}

/** Fixtures that differ in a setting share the weights of the one whose name theirs goes on from. */
async function weightsOf(name: string): Promise<string> {
  if (await hasOwnWeights(name)) return name;
  return weightsOf(name.slice(0, name.lastIndexOf('-')));
}

async function configOf(name: string): Promise<Record<string, unknown> | undefined> {
  if (await hasOwnWeights(name)) return undefined;
  return JSON.parse(await readFile(new URL(`${name}/config.json`, fixtures), 'utf8'));
}

async function exists(url: URL): Promise<boolean> {
  return access(url).then(
    () => true,
    () => false,
  );
}
