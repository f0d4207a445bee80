import type { Comparison } from './compare.ts';
import type { ReplayReport } from './replay.ts';

/** A report in sentences, a line each: what was compared, what went wrong first and where, which tokens agree. */
export function describeReport(report: ReplayReport): string[] {
  const { goldens, backend, weights, wrongWeights, comparisons, firstMismatch, greedy } = report;
  const lines = [`${goldens.id} (${goldens.revision}) on ${backend.kind}/${backend.variant}, weights ${weights}`];
  if (wrongWeights.length > 0) {
    lines.push(
      `WRONG ${wrongWeights.length} weights are not those of the goldens, the first is ${wrongWeights[0]}. Is it another model?`,
    );
  }
  if (firstMismatch) {
    lines.push(`WRONG first at ${describeComparison(firstMismatch)}`);
    const numFailed = comparisons.filter((comparison) => !comparison.passed).length;
    lines.push(`      ${numFailed} of ${comparisons.length} tensors differ; those after the first may follow from it.`);
  } else if (comparisons.length > 0) {
    const closest = comparisons.reduce((worst, one) => (timesTolerance(one) > timesTolerance(worst) ? one : worst));
    lines.push(`ok    ${comparisons.length} tensors; nearest to its tolerance is ${describeComparison(closest)}`);
  }
  for (const { name, mode, expected, got, numEqual, firstDifference } of greedy) {
    if (mode === 'forced') {
      lines.push(`      greedy ${name}: ${agreement(numEqual, expected.length)}`);
    } else if (firstDifference === null) {
      lines.push(`ok    greedy ${name}: ${expected.length} tokens`);
    } else {
      lines.push(
        `WRONG greedy ${name}: token ${firstDifference} is ${got[firstDifference]}, expected ${expected[firstDifference]}`,
      );
    }
  }
  const forced = greedy.filter(({ mode }) => mode === 'forced');
  if (forced.length > 1) {
    const numEqual = forced.reduce((sum, one) => sum + one.numEqual, 0);
    const total = forced.reduce((sum, one) => sum + one.expected.length, 0);
    lines.push(`      greedy in all: ${agreement(numEqual, total)}`);
  }
  return lines;
}

function agreement(numEqual: number, total: number): string {
  const share = total === 0 ? 100 : (100 * numEqual) / total;
  return `${numEqual} of ${total} tokens agree with float32 (${share.toFixed(1)}%)`;
}

function describeComparison({ key, worst, tolerance }: Comparison): string {
  const { coordinates, expected, got, error } = worst;
  return `${key} [${coordinates}]: expected ${expected}, got ${got}, ${error.toExponential(2)} apart, allowed ${tolerance.abs.toExponential(2)} (${tolerance.reason})`;
}

/** An exact tensor that is exact is 0 tolerances away. */
function timesTolerance({ worst, tolerance }: Comparison): number {
  return worst.error === 0 ? 0 : worst.error / tolerance.abs;
}
