import { type Command, Option } from 'commander';
import { readList, settingFlags } from './setting.ts';
import { flagOf, variableOf } from './setting-names.ts';
import { type SettingKey, settingKeys, settingsSchema } from './settings.ts';

/** What was said on the command line or in the environment, by key: the value, and the name under which it was said. */
export type GivenSettings = ReadonlyMap<SettingKey, { readonly value: unknown; readonly name: string }>;

/** Adds a flag for each setting. Their values stay text: `givenSettings` reads them. */
export function addSettingOptions(command: Command): Command {
  const defaults = settingsSchema.parse({});
  for (const key of settingKeys) {
    const { group, argument, description, defaultText = textOf(defaults[key]) } = flagFor(key);
    const flags = `${key === 'models' ? '-m, ' : ''}${flagOf(key)} ${argument}`;
    const option = new Option(flags, defaultText === '' ? description : `${description} (default: ${defaultText})`);
    option.env(variableOf(key)).helpGroup(group);
    if (key === 'models') option.argParser((text, before: string[] = []) => [...before, text]);
    command.addOption(option);
  }
  return command;
}

/**
 * The settings that the command line and the environment name, as JSON values. A flag goes before a variable; an empty
 * variable says nothing.
 * @throws UsageError for a text that is no value of its setting
 */
export function givenSettings(command: Command): GivenSettings {
  const given = new Map<SettingKey, { value: unknown; name: string }>();
  for (const key of settingKeys) {
    const attribute = key === 'models' ? 'model' : key;
    const text = textOfOption(command.getOptionValue(attribute));
    const isVariable = command.getOptionValueSource(attribute) === 'env';
    if (text === undefined || (isVariable && String(text) === '')) continue;
    const name = isVariable ? variableOf(key) : flagOf(key);
    const { read = (text: string) => text } = flagFor(key);
    const readMany = (texts: string[]) => (isVariable ? readList(texts.join()) : texts).map((each) => read(each, name));
    given.set(key, { value: typeof text === 'string' ? read(text, name) : readMany(text), name });
  }
  return given;
}

function flagFor(key: SettingKey) {
  return settingFlags.get(settingsSchema.shape[key])!;
}

/** A flag without its value is a switch that is turned on. */
function textOfOption(value: true | string | string[] | undefined): string | string[] | undefined {
  return value === true ? 'on' : value;
}

function textOf(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'boolean' ? (value ? 'on' : 'off') : String(value);
}
