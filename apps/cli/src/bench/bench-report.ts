import type { ModelInfo } from '@hearth/engine';
import type { ResolvedModel } from '@hearth/hub';
import type { MachineCeilings, ThreadRates } from '@hearth/kernels';
import { profileRows, rooflineOf } from '../profile/profile-table.ts';
import { runRecord } from '../run-record.ts';
import { type Speed, summary } from './measure-speed.ts';
import type { PhaseProfile } from './roofline-report.ts';

interface BenchReportParts {
  readonly resolved: ResolvedModel;
  readonly info: ModelInfo;
  readonly speeds: readonly Speed[];
  /** Null where no roofline was asked for; then there are no phases. */
  readonly ceilings: MachineCeilings | null;
  readonly phases: readonly PhaseProfile[];
}

/** What `bench --json` prints. An edge of the program, so the names are in snake_case. */
export async function benchReport({ resolved, info, speeds, ceilings, phases }: BenchReportParts) {
  return {
    speeds: speeds.map((speed) => {
      const { median, spread } = summary(speed);
      const { phase, sequences, context, tokens, tokensPerSecond } = speed;
      return { phase, sequences, context, tokens, tokens_per_second: { median, spread, rounds: tokensPerSecond } };
    }),
    ...(ceilings && {
      roofline: { ceilings: ceilingsReport(ceilings), phases: phases.map(phaseReport) },
    }),
    record: await runRecord(resolved, info),
  };
}

/** Bytes or operations per second. */
function ceilingsReport({ memoryRead, l3Read, l2Read, fma, integer }: MachineCeilings) {
  const rates = ({ oneThread, allThreads }: ThreadRates) => ({ one_thread: oneThread, all_threads: allThreads });
  return {
    memory_read: rates(memoryRead),
    l3_read: l3Read && rates(l3Read),
    l2_read: rates(l2Read),
    fma: rates(fma),
    integer: rates(integer),
  };
}

function phaseReport({ phase, context, tokens, profile, ceilings }: PhaseProfile) {
  const operators = profileRows(profile, 'operators').map((row) => {
    const { weightBytes, cacheBytes, activationBytes, integerOps, floatOps } = row.work;
    const roofline = rooflineOf(row, ceilings);
    return {
      name: row.name,
      kind: row.kind,
      calls: row.calls,
      nanoseconds: row.nanoseconds,
      weight_bytes: weightBytes,
      cache_bytes: cacheBytes,
      activation_bytes: activationBytes,
      integer_ops: integerOps,
      float_ops: floatOps,
      roofline: roofline && { share: roofline.share, limit: roofline.limit },
    };
  });
  const { memoryBytes, cacheBytes, integerOps, floatOps } = ceilings;
  return {
    ...{ phase, context, tokens },
    ceilings: { memory_read: memoryBytes, l2_read: cacheBytes, integer: integerOps, fma: floatOps },
    operators,
  };
}
