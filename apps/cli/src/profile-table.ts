import type { OpProfile } from '@hearth/engine';
import { formatTable } from './terminal/format.ts';

/**
 * Time per operator as a table: the layers' numbers are left out of the names, so that the same operator of all layers is
 * one row. Calls count ops run, share is of the time in ops.
 */
export function profileTable(profile: readonly OpProfile[]): string {
  const rows = new Map<string, { kind: string; calls: number; nanoseconds: number }>();
  for (const { name, kind, calls, nanoseconds } of profile) {
    const key = name.replace(/\.layers\.\d+/, '.layers.*');
    const row = rows.get(`${kind} ${key}`) ?? { kind, calls: 0, nanoseconds: 0 };
    row.calls += calls;
    row.nanoseconds += nanoseconds;
    rows.set(`${kind} ${key}`, row);
  }
  const total = [...rows.values()].reduce((sum, { nanoseconds }) => sum + nanoseconds, 0);
  const sorted = [...rows].sort(([, a], [, b]) => b.nanoseconds - a.nanoseconds);
  const cells = sorted.map(([key, { kind, calls, nanoseconds }]) => [
    key.slice(kind.length + 1),
    kind,
    String(calls),
    (nanoseconds / 1e6).toFixed(2),
    (nanoseconds / 1e3 / Math.max(1, calls)).toFixed(1),
    `${((100 * nanoseconds) / Math.max(1, total)).toFixed(1)}%`,
  ]);
  const header = ['OPERATOR', 'KIND', 'CALLS', 'MS', 'US/CALL', 'SHARE'];
  const footer = ['total', '', '', (total / 1e6).toFixed(2), '', '100%'];
  return formatTable([header, ...cells, footer], [2, 3, 4, 5]);
}
