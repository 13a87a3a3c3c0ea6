// Ranks, and the ranks that draws of the cases leave open.
import { Mark, colourOf } from "./Mark";
import { truncateTo, scaleOf, widthOf } from "./scale";

interface RankRow {
  label: string;
  rank: number;
  low: number | null;
  high: number | null;
  text: string;
}

const ROW = 28;

export function RankPlot({ rows, width, label }: { rows: RankRow[]; width: number; label: string }) {
  const most = Math.max(rows.length, 2);
  const gutter = Math.min(Math.max(...rows.map((row) => widthOf(row.label)), 60) + 12, width * 0.4);
  const right = Math.min(Math.max(...rows.map((row) => widthOf(row.text)), 20) + 16, width * 0.34);
  const bottom = 6 + rows.length * ROW;
  const x = scaleOf(1, most, gutter + 18, width - right - 18);
  const every = Math.ceil(most / Math.max(2, (width - gutter - right) / 34));
  return (
    <svg width={width} height={bottom + 40} role="img" aria-label={`${label}. The same ranks are in its table.`}>
      {Array.from({ length: most }, (_, n) => n + 1).map((rank) => (
        <g key={rank}>
          <line class="chart-grid" x1={x(rank)} x2={x(rank)} y1={4} y2={bottom} />
          {(rank - 1) % every === 0 ? (
            <text class="chart-quiet" x={x(rank)} y={bottom + 16} text-anchor="middle">
              {rank}
            </text>
          ) : null}
        </g>
      ))}
      {rows.map((row, at) => {
        const y = 6 + at * ROW + ROW / 2;
        const low = row.low ?? row.rank;
        const high = row.high ?? row.rank;
        return (
          <g key={at}>
            <text x={gutter} y={y + 4} text-anchor="end">
              <title>{row.label}</title>
              {truncateTo(row.label, gutter - 8)}
            </text>
            <rect x={x(low) - 8} y={y - 8} width={x(high) - x(low) + 16} height={16} rx={8} style={{ fill: colourOf(0), fillOpacity: 0.22, stroke: colourOf(0) }} />
            <Mark x={x(row.rank)} y={y} series={0} />
            <text class="chart-quiet" x={width - right} y={y + 4}>
              {truncateTo(row.text, right)}
            </text>
          </g>
        );
      })}
      <text class="chart-quiet" x={(x(1) + x(most)) / 2} y={bottom + 34} text-anchor="middle">
        rank (1 is best)
      </text>
    </svg>
  );
}
