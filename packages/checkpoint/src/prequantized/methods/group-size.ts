import type { ConfigFields } from '../config-fields.ts';

/** Columns of a group; null for −1, which makes every row one group. */
export function readGroupSize(config: ConfigFields): number | null {
  const value = config.value('group_size');
  if (value === -1) return null;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value % 32 === 0) return value;
  return config.refuse('group_size', 'a multiple of 32, or -1 for whole rows');
}
