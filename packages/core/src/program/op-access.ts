import type { Op, View } from './program.ts';

/** What an op reads and writes, for checks that do not care which op it is. */
export interface OpAccess {
  readonly reads: readonly View[];
  /** Views whose whole content is new afterwards. A view that is in `reads` too is updated in place. */
  readonly writes: readonly View[];
}

/** The views that an op reads and writes. */
export function opAccess(op: Op): OpAccess {
  switch (op.kind) {
    case 'embed':
    case 'rope-table':
      return { reads: [], writes: [op.out] };
    case 'rms-norm':
    case 'layer-norm':
    case 'linear':
    case 'activation':
    case 'gather-rows':
      return { reads: [op.x], writes: [op.out] };
    case 'add-rms-norm':
      return { reads: [op.residual, op.delta], writes: [op.residual, op.out] };
    case 'add':
      return { reads: [op.residual, op.delta], writes: [op.residual] };
    case 'rope':
      return { reads: [op.x, op.table], writes: [op.x] };
    case 'write-cache':
      return { reads: [op.k, op.v], writes: [] };
    case 'attention':
      return { reads: [op.q], writes: [op.out] };
    case 'gated-activation':
      return { reads: [op.gate, op.up], writes: [op.out] };
    case 'softcap':
      return { reads: [op.x], writes: [op.x] };
    case 'moe-mlp':
      return { reads: [op.x, op.routerLogits], writes: [op.out] };
    case 'capture':
      return { reads: [op.x], writes: [] };
  }
}
