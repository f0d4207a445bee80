import { UsageError } from '@hearth/command-line';
import { z } from 'zod';
import { readConfigFile } from './config-file.ts';
import { settingIssue } from './setting-issue.ts';
import { flagOf } from './setting-names.ts';
import type { GivenSettings } from './setting-options.ts';
import { type SettingKey, type Settings, settingsSchema } from './settings.ts';

/**
 * Puts the settings together: what is given goes before the config file, the file before the defaults.
 * @throws UsageError that names each key, flag or variable that is wrong
 */
export async function readSettings(given: GivenSettings, configFile: string | undefined): Promise<Settings> {
  const file = configFile === undefined ? {} : await readConfigFile(configFile);
  // On its own first: a mistake in it is not hidden by a flag that goes before.
  parse(file, (path) => (path === '' ? `${configFile}` : `${path} in ${configFile}`));
  const merged: Partial<Record<string, unknown>> = { ...file };
  // Either says how large the cache is.
  if (given.has('cacheMemory') || given.has('cacheTokens')) {
    delete merged.cacheMemory;
    delete merged.cacheTokens;
  }
  for (const [key, { value }] of given) merged[key] = value;
  const settings = parse(merged, (path, [key]) => given.get(key as SettingKey)?.name ?? path);
  checkTogether(settings);
  return settings;
}

type PlaceName = (path: string, keys: readonly PropertyKey[]) => string;

function parse(input: unknown, nameOf: PlaceName): Settings {
  const result = settingsSchema.safeParse(input, { error: settingIssue });
  if (result.success) return result.data;
  const sentences = result.error.issues.map(({ path, message }) => {
    return `${nameOf(z.core.toDotPath(path), path)}: ${message}.`.replace(/\.+$/, '.');
  });
  throw new UsageError(sentences.join(' '));
}

/** @throws UsageError for settings that make no sense beside each other */
function checkTogether(settings: Settings): void {
  if ((settings.tlsCertificate === undefined) !== (settings.tlsKey === undefined)) {
    throw new UsageError(`${flagOf('tlsCertificate')} and ${flagOf('tlsKey')} are needed together.`);
  }
  for (const { cacheMemory, cacheTokens, source } of [...settings.models, { ...settings, source: 'all models' }]) {
    if (cacheMemory === undefined || cacheTokens === undefined) continue;
    throw new UsageError(`cacheMemory and cacheTokens both say how large the cache of ${source} is: give one of them.`);
  }
}
