import { pullProgress, UsageError } from '@hearth/command-line';
import { defaultModelName, resolveModel } from '@hearth/hub';
import type { ModelSettings } from '../settings/model-settings.ts';
import type { Settings } from '../settings/settings.ts';

/** A model that is on this machine, under the name that requests use. */
export interface FoundModel {
  readonly name: string;
  readonly aliases: readonly string[];
  /** Its settings, those that hold for all models among them; `source` and `draftModel` are paths. */
  readonly settings: ModelSettings;
}

/**
 * Finds all models that are to be served, and downloads those that are not here. Without any it is the default model.
 * @throws what `resolveModel` throws; UsageError when two models have one name
 */
export async function findModels(settings: Settings, signal: AbortSignal): Promise<FoundModel[]> {
  const wanted = settings.models.length > 0 ? settings.models : [{ source: defaultModelName }];
  const found: FoundModel[] = [];
  for (const each of wanted) found.push(await findModel(withGeneralSettings(each, settings), signal));
  const names = found.flatMap(({ name, aliases }) => [name, ...aliases]);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return found;
  throw new UsageError(`Two models are called "${twice}". Give one of them another name: --model NAME=SOURCE.`);
}

/** What the entry of a model says goes before what is said for all. */
export function withGeneralSettings(model: ModelSettings, settings: Settings): ModelSettings {
  const { context, cacheType, prefixCache, quantize } = settings;
  const { speculate, speculateTokens, draftModel, maxSequences, maxQueued } = settings;
  const { cacheMemory, cacheTokens } = 'cacheMemory' in model || 'cacheTokens' in model ? model : settings;
  const general = { context, cacheType, prefixCache, quantize, speculate, speculateTokens, draftModel };
  return { ...general, maxSequences, maxQueued, cacheMemory, cacheTokens, ...model };
}

async function findModel(settings: ModelSettings, signal: AbortSignal): Promise<FoundModel> {
  if (settings.speculateTokens !== undefined && !settings.speculate && settings.draftModel === undefined) {
    throw new UsageError(`speculateTokens of ${settings.source} needs speculate or draftModel.`);
  }
  const model = await find(settings.source, signal);
  const draft = settings.draftModel === undefined ? undefined : await find(settings.draftModel, signal);
  return {
    name: settings.name ?? model.name,
    aliases: settings.aliases ?? [],
    settings: { ...settings, source: model.path, draftModel: draft?.path },
  };
}

async function find(source: string, signal: AbortSignal) {
  const progress = pullProgress();
  return resolveModel(source, { signal, ...progress.options }).finally(() => progress.stop());
}
