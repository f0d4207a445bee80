import { type QuantizeRule, type StorageDtype, storageDtypes } from '@hearth/checkpoint';
import { UsageError } from './usage-error.ts';

/** @throws UsageError for a text that names no type which weights can be written in; upper case is fine */
export function parseStorageDtype(text: string, flag: string): StorageDtype {
  const found = storageDtypes.find((dtype) => dtype === text.toLowerCase());
  if (found) return found;
  throw new UsageError(`${flag} takes one of ${storageDtypes.join(', ')}, got "${text}".`);
}

/** Gathers the values of `--tensor PATTERN=TYPE`. */
export function collectRule(text: string, rules: readonly QuantizeRule[] = []): QuantizeRule[] {
  const equals = text.lastIndexOf('=');
  if (equals <= 0) throw new UsageError(`--tensor takes PATTERN=TYPE such as '*.v_proj.weight=q6_k', got "${text}".`);
  const dtype = parseStorageDtype(text.slice(equals + 1), `--tensor ${text.slice(0, equals)}`);
  return [...rules, { pattern: text.slice(0, equals), dtype }];
}
