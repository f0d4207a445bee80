import { formatTable } from '@hearth/command-line';
import { leastSeconds, type OpProfile, type OpWork, type RooflineCeilings, sumWork } from '@hearth/engine';

/** What becomes one row: the same operator of all layers, or all operators of one layer. */
export type ProfileRows = 'operators' | 'layers';

/** Time and work of some ops together. */
export interface ProfileRow {
  readonly name: string;
  /** Empty where ops of several kinds are one row. */
  readonly kind: string;
  readonly calls: number;
  readonly nanoseconds: number;
  readonly work: OpWork;
}

/** The ops grouped, in the order of the program. */
export function profileRows(profile: readonly OpProfile[], by: ProfileRows): ProfileRow[] {
  const groups = new Map<string, { name: string; kind: string; ops: OpProfile[] }>();
  for (const op of profile) {
    const layer = by === 'layers' ? layerOf(op.name) : undefined;
    const name = layer ?? withoutLayer(op.name);
    // A boundary may be the output of two ops (a product and the activation after it).
    const kind = layer === undefined ? op.kind : '';
    const group = groups.get(`${kind} ${name}`) ?? { name, kind, ops: [] };
    group.ops.push(op);
    groups.set(`${kind} ${name}`, group);
  }
  return [...groups.values()].map(({ name, kind, ops }) => ({ name, kind, ...sumOf(ops) }));
}

/** All ops as one row. */
export function profileTotal(profile: readonly OpProfile[]): ProfileRow {
  return { name: 'total', kind: '', ...sumOf(profile) };
}

/**
 * A profile as a table, the longest operator first, layers in their order. CALLS counts ops that were run; SHARE is of the
 * time in ops; ROOFLINE, which needs ceilings, is the least time that the work can take over the time that it took, and says
 * what the limit is (docs/roofline.md).
 */
export function profileTable(
  profile: readonly OpProfile[],
  options: { readonly by: ProfileRows; readonly ceilings: RooflineCeilings | null },
): string {
  const { by, ceilings } = options;
  const rows = profileRows(profile, by);
  if (by === 'operators') rows.sort((a, b) => b.nanoseconds - a.nanoseconds);
  const total = profileTotal(profile);
  const header = [
    'OPERATOR',
    'KIND',
    'CALLS',
    'MS',
    'US/CALL',
    'SHARE',
    'GB/S',
    'GOP/S',
    ...(ceilings ? ['ROOFLINE'] : []),
  ];
  if (by === 'layers') header[0] = 'LAYER';
  const cells = [...rows, total].map((row) => [
    row.name,
    row.kind,
    row === total ? '' : String(row.calls),
    (row.nanoseconds / 1e6).toFixed(2),
    row === total ? '' : (row.nanoseconds / 1e3 / Math.max(1, row.calls)).toFixed(1),
    percent(row.nanoseconds / Math.max(1, total.nanoseconds)),
    rate(bytesOf(row.work), row.nanoseconds),
    rate(row.work.integerOps + row.work.floatOps, row.nanoseconds),
    ...(ceilings ? [rooflineCell(row, ceilings)] : []),
  ]);
  return formatTable([header, ...cells], [2, 3, 4, 5, 6, 7, 8]);
}

/** Bytes that have to be moved at least. */
export function bytesOf({ weightBytes, cacheBytes, activationBytes }: OpWork): number {
  return weightBytes + cacheBytes + activationBytes;
}

/** How near to the least time, and what sets it. Null for what took no time. */
export function rooflineOf(
  { work, nanoseconds }: ProfileRow,
  ceilings: RooflineCeilings,
): { readonly share: number; readonly limit: 'bytes' | 'ops' } | null {
  if (nanoseconds === 0) return null;
  const { bytes, ops } = leastSeconds(work, ceilings);
  return { share: (1e9 * Math.max(bytes, ops)) / nanoseconds, limit: bytes >= ops ? 'bytes' : 'ops' };
}

/** `82.0% bytes` */
function rooflineCell(row: ProfileRow, ceilings: RooflineCeilings): string {
  const roofline = rooflineOf(row, ceilings);
  return roofline ? `${percent(roofline.share)} ${roofline.limit.padEnd(5)}` : '';
}

function sumOf(ops: readonly OpProfile[]): { calls: number; nanoseconds: number; work: OpWork } {
  return {
    calls: ops.reduce((sum, { calls }) => sum + calls, 0),
    nanoseconds: ops.reduce((sum, { nanoseconds }) => sum + nanoseconds, 0),
    work: sumWork(ops.map(({ work }) => work)),
  };
}

/** `model.layers.3.mlp.down_proj` → `model.layers.*.mlp.down_proj`; GPT-2 calls its layers `transformer.h.3`. */
function withoutLayer(name: string): string {
  return name.replace(/\.(layers|h)\.\d+/, '.$1.*');
}

/** Undefined for what is in no layer. */
function layerOf(name: string): string | undefined {
  return /^.*?\.(?:layers|h)\.\d+/.exec(name)?.[0];
}

/** In units of 10⁹ per second, which is one per nanosecond. Empty for nothing. */
function rate(amount: number, nanoseconds: number): string {
  return amount === 0 || nanoseconds === 0 ? '' : (amount / nanoseconds).toFixed(1);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}
