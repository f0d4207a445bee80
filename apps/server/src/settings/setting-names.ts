import type { SettingKey } from './settings.ts';

/** `maxQueued` is `--max-queued`. Models are given one by one, so their flag is in the singular. */
export function flagOf(key: SettingKey): string {
  return key === 'models' ? '--model' : `--${splitWords(key).join('-')}`;
}

/** `maxQueued` is `HEARTH_MAX_QUEUED`. */
export function variableOf(key: SettingKey): string {
  return `HEARTH_${splitWords(key).join('_').toUpperCase()}`;
}

function splitWords(key: string): string[] {
  return key.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
}
