import { mostPoints } from '../chat/use-statistics.ts';

export interface Line {
  readonly name: string;
  /** Its value at this moment, for people. */
  readonly now: string;
  readonly values: readonly number[];
}

export interface LineChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  /** Top of the scale. Default: the highest value. */
  readonly most?: number;
}

const width = 600;
const height = 120;

/** Lines over time; the newest values are at the right. */
export function LineChart({ title, lines, most }: LineChartProps) {
  const top = most ?? Math.max(1, ...lines.flatMap(({ values }) => values));
  const spoken = lines.map(({ name, now }) => `${name} ${now}`).join(', ');
  return (
    <figure className="chart">
      <figcaption>
        <strong>{title}</strong>
        {lines.map(({ name, now }, index) => (
          <span key={name} className={`legend line-${index}`}>
            {name} <b>{now}</b>
          </span>
        ))}
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${title}: ${spoken}`}>
        {lines.map(({ name, values }, index) => (
          <polyline key={name} className={`line-${index}`} points={pointsOf(values, top)} />
        ))}
      </svg>
    </figure>
  );
}

/** Of values from 0 to `top`, as SVG has them. */
export function pointsOf(values: readonly number[], top: number): string {
  const step = width / (mostPoints - 1);
  const start = width - step * (values.length - 1);
  return values
    .map(
      (value, index) =>
        `${(start + index * step).toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`,
    )
    .join(' ');
}
