import { parseNumber, UsageError } from '@hearth/command-line';
import { z } from 'zod';

/** How a setting is given on a command line or in the environment. Its names follow from its key; see `setting-names.ts`. */
export interface SettingFlag {
  /** The heading in the help. */
  readonly group: string;
  /** What stands for the value in the help: `<n>`; in brackets where it may be left out. */
  readonly argument: string;
  readonly description: string;
  /** What holds when nothing is said, where the schema has no default, or one that does not read well. */
  readonly defaultText?: string;
  /** The JSON value that a text stands for. Default: the text. */
  readonly read?: (text: string, name: string) => unknown;
}

/** The flag of each setting that has one. */
export const settingFlags = z.registry<SettingFlag>();

/** A setting that may also come from the command line and the environment. */
export function setting<Schema extends z.ZodType>(schema: Schema, flag: SettingFlag): Schema {
  settingFlags.add(schema, flag);
  return schema;
}

export const readNumber = parseNumber;

/** Values between commas. */
export function readList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

const switches: Readonly<Record<string, boolean>> = {
  on: true,
  true: true,
  1: true,
  off: false,
  false: false,
  0: false,
};

/** @throws UsageError */
export function readSwitch(text: string, name: string): boolean {
  const value = Object.hasOwn(switches, text.toLowerCase()) ? switches[text.toLowerCase()] : undefined;
  if (value === undefined) throw new UsageError(`${name} takes on or off, got "${text}".`);
  return value;
}
