// Numbers with their intervals, one below the other: a forest plot.
import { Mark, colourOf } from "./Mark";
import { formatTick, truncateTo, axisRange, scaleOf, ticksOf, widthOf } from "./scale";

interface IntervalRow {
  label: string;
  value: number | null;
  low?: number | null | undefined;
  high?: number | null | undefined;
  /** What stands at the right; the number itself without it. */
  text?: string;
  series?: number;
}

interface Props {
  rows: IntervalRow[];
  width: number;
  label: string;
  /** What the axis is of. */
  axis: string;
  /** A line at this number, for differences at 0. */
  line?: number;
  /** What lies left and right of the line. */
  sides?: [string, string];
  domain?: [number, number];
}

const ROW = 26;

export function IntervalPlot({ rows, width, label, axis, line, sides, domain }: Props) {
  const values = rows.flatMap((row) => [row.value, row.low, row.high]);
  const [low, high] = domain ?? axisRange(values, { zero: line === 0, share: line === undefined });
  const gutter = Math.min(Math.max(...rows.map((row) => widthOf(row.label)), 60) + 12, width * 0.42);
  const texts = rows.map((row) => row.text ?? "");
  const right = Math.min(Math.max(...texts.map(widthOf), 20) + 14, width * 0.34);
  const top = sides ? 20 : 6;
  const bottom = top + rows.length * ROW;
  const height = bottom + 40;
  const x = scaleOf(low, high, gutter + 10, width - right - 12);
  const clipped = (value: number) => x(Math.min(Math.max(value, low), high));
  const ticks = ticksOf(low, high, Math.max(2, Math.floor((width - gutter - right) / 70)));
  return (
    <svg width={width} height={height} role="img" aria-label={`${label}. The same numbers are in its table.`}>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="chart-grid" x1={x(tick)} x2={x(tick)} y1={top} y2={bottom} />
          <text class="chart-quiet" x={x(tick)} y={bottom + 16} text-anchor="middle">
            {formatTick(tick)}
          </text>
        </g>
      ))}
      <line class="chart-axis" x1={x(low)} x2={x(high)} y1={bottom} y2={bottom} />
      {line !== undefined && line >= low && line <= high ? <line class="chart-zero" x1={x(line)} x2={x(line)} y1={top - 4} y2={bottom} /> : null}
      {sides && line !== undefined ? (
        <>
          <text class="chart-quiet" x={x(line) - 8} y={12} text-anchor="end">
            {truncateTo(sides[0], x(line) - 16)}
          </text>
          <text class="chart-quiet" x={x(line) + 8} y={12}>
            {truncateTo(sides[1], width - x(line) - 16)}
          </text>
        </>
      ) : null}
      {rows.map((row, at) => {
        const y = top + at * ROW + ROW / 2;
        const series = row.series ?? 0;
        return (
          <g key={at}>
            <text x={gutter} y={y + 4} text-anchor="end">
              <title>{row.label}</title>
              {truncateTo(row.label, gutter - 8)}
            </text>
            {typeof row.low === "number" && typeof row.high === "number" ? (
              <path
                d={`M${clipped(row.low)} ${y - 5}V${y + 5}M${clipped(row.low)} ${y}H${clipped(row.high)}M${clipped(row.high)} ${y - 5}V${y + 5}`}
                style={{ stroke: colourOf(series), strokeWidth: 2, fill: "none" }}
              />
            ) : null}
            {row.value !== null ? <Mark x={clipped(row.value)} y={y} series={series} /> : null}
            <text class="chart-quiet" x={width - right} y={y + 4}>
              {truncateTo(row.text ?? "", right)}
            </text>
          </g>
        );
      })}
      <text class="chart-quiet" x={(x(low) + x(high)) / 2} y={height - 6} text-anchor="middle">
        {axis}
      </text>
    </svg>
  );
}
