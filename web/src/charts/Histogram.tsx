// How many there are in each bin.
import { colourOf } from "./Mark";
import { formatTick, scaleOf, ticksOf } from "./scale";

interface Bar {
  low: number;
  high: number;
  n: number;
}

export function Histogram({ bars, width, label, across, up }: { bars: Bar[]; width: number; label: string; across: string; up: string }) {
  const height = 190;
  const left = Math.min(...bars.map((bar) => bar.low));
  const right = Math.max(...bars.map((bar) => bar.high));
  const most = Math.max(...bars.map((bar) => bar.n), 1);
  const x = scaleOf(left, right, 52, width - 14);
  const y = scaleOf(0, most, height - 44, 18);
  return (
    <svg width={width} height={height} role="img" aria-label={`${label}. The same numbers are in its table.`}>
      {ticksOf(0, most, 4)
        .filter(Number.isInteger)
        .map((tick) => (
          <g key={tick}>
            <line class="chart-grid" x1={x(left)} x2={x(right)} y1={y(tick)} y2={y(tick)} />
            <text class="chart-quiet" x={x(left) - 6} y={y(tick) + 4} text-anchor="end">
              {formatTick(tick)}
            </text>
          </g>
        ))}
      {bars.map((bar) => (
        <g key={bar.low}>
          <rect x={x(bar.low) + 1} width={Math.max(1, x(bar.high) - x(bar.low) - 2)} y={y(bar.n)} height={Math.max(0, y(0) - y(bar.n))} style={{ fill: colourOf(0) }} />
          {bar.n ? (
            <text x={(x(bar.low) + x(bar.high)) / 2} y={y(bar.n) - 4} text-anchor="middle">
              {bar.n}
            </text>
          ) : null}
        </g>
      ))}
      {ticksOf(left, right).map((tick) => (
        <text key={tick} class="chart-quiet" x={x(tick)} y={y(0) + 17} text-anchor="middle">
          {formatTick(tick)}
        </text>
      ))}
      <line class="chart-axis" x1={x(left)} x2={x(right)} y1={y(0)} y2={y(0)} />
      <text class="chart-quiet" x={(x(left) + x(right)) / 2} y={height - 6} text-anchor="middle">
        {across}
      </text>
      <text class="chart-quiet" x={-height / 2 + 10} y={13} text-anchor="middle" transform="rotate(-90)">
        {up}
      </text>
    </svg>
  );
}
