import { median, spread } from '../vs-llama-cpp/statistics.ts';
import type { Sample } from './bench.ts';
import type { KernelCase } from './kernel-case.ts';

/** All samples of one case in one variant; the n-th of every variant were taken in the same round. */
export interface Result {
  readonly kernelCase: KernelCase;
  readonly variant: string;
  readonly bytes: number;
  readonly operations: number;
  readonly samples: readonly Sample[];
}

const shapeTitles: Readonly<Record<KernelCase['group'], string>> = {
  linear: 'Tokens',
  attention: 'Tokens at context',
  rows: 'Rows',
};

/** A Markdown table of one group. With several variants, each is held against the first, round by round. */
export function groupTable(
  group: KernelCase['group'],
  results: readonly Result[],
  variants: readonly string[],
): string {
  const isComparison = variants.length > 1;
  const header = [
    ...['Kernel', shapeTitles[group], ...(isComparison ? ['Variant'] : [])],
    ...['µs', 'GB/s', 'GOP/s', 'Of the limit', 'Limit'],
    ...(isComparison ? [`Speed over ${variants[0]}`] : []),
  ];
  const rows = results.map((result) => {
    const { kernelCase, variant, bytes, operations, samples } = result;
    const seconds = median(samples.map((sample) => sample.seconds));
    const shares = samples.map(({ share }) => share);
    return [
      ...[kernelCase.kernel, kernelCase.shape, ...(isComparison ? [variant] : [])],
      (1e6 * seconds).toFixed(1),
      (bytes / seconds / 1e9).toFixed(1),
      operations === 0 ? '' : (operations / seconds / 1e9).toFixed(0),
      `${(100 * median(shares)).toFixed(0)}% ±${(100 * spread(shares)).toFixed(0)}%`,
      samples[0]!.limit,
      ...(isComparison ? [speedOverFirst(result, results, variants[0]!)] : []),
    ];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

function speedOverFirst({ kernelCase, samples }: Result, results: readonly Result[], first: string): string {
  const base = results.find((other) => other.kernelCase === kernelCase && other.variant === first)!;
  return median(samples.map(({ seconds }, round) => base.samples[round]!.seconds / seconds)).toFixed(2);
}
