import { UsageError } from './usage-error.ts';

const units: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** @throws UsageError for anything that is not a number with a unit, such as `512MB`: bytes at least one, and exact */
export function parseSize(text: string, flag: string): number {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?([a-zA-Z]+)$/.exec(text) ?? [];
  const factor = units[unit ?? ''];
  const bytes = factor === undefined ? Number.NaN : Math.floor(Number(number) * factor);
  if (Number.isSafeInteger(bytes) && bytes >= 1) return bytes;
  throw new UsageError(`${flag} takes a size in ${Object.keys(units).join(', ')}, such as 512MB, got "${text}".`);
}
