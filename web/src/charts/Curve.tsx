// Lines over an axis, with the intervals of their points as bands: sweeps, reliability diagrams.
import { Mark, colourOf, dashOf } from "./Mark";
import { formatTick, axisRange, scaleOf, ticksOf } from "./scale";

export interface Dot {
  x: number;
  y: number;
  low: number | null;
  high: number | null;
}

export interface Line {
  name: string;
  dots: Dot[];
}

interface Props {
  lines: Line[];
  width: number;
  label: string;
  across: string;
  up: string;
  /** Words at the axis in place of numbers. */
  words?: { x: number; word: string }[];
  /** A line from corner to corner: sure as often as right. */
  diagonal?: boolean;
  domain?: { x?: [number, number]; y?: [number, number] };
}

export function Curve({ lines, width, label, across, up, words, diagonal, domain }: Props) {
  const height = Math.round(Math.min(380, Math.max(240, width * 0.5)));
  const dots = lines.flatMap((line) => line.dots);
  const [left, right] = domain?.x ?? (words ? [Math.min(...words.map((w) => w.x)) - 0.3, Math.max(...words.map((w) => w.x)) + 0.3] : span(dots.map((dot) => dot.x)));
  const [low, high] = domain?.y ?? axisRange(dots.flatMap((dot) => [dot.y, dot.low, dot.high]), { share: true });
  const wide = diagonal ? Math.min(width, height + 60) : width;
  const x = scaleOf(left, right, 52, wide - 14);
  const y = scaleOf(low, high, height - 44, 12);
  return (
    <>
      <svg width={wide} height={height} role="img" aria-label={`${label}. The same numbers are in its table.`}>
        {ticksOf(low, high).map((tick) => (
          <g key={`y${tick}`}>
            <line class="chart-grid" x1={x(left)} x2={x(right)} y1={y(tick)} y2={y(tick)} />
            <text class="chart-quiet" x={x(left) - 6} y={y(tick) + 4} text-anchor="end">
              {formatTick(tick)}
            </text>
          </g>
        ))}
        {(words ?? ticksOf(left, right, Math.max(2, Math.floor(wide / 90))).map((tick) => ({ x: tick, word: formatTick(tick) }))).map((tick) => (
          <g key={`x${tick.x}`}>
            <line class="chart-grid" x1={x(tick.x)} x2={x(tick.x)} y1={y(low)} y2={y(high)} />
            <text class="chart-quiet" x={x(tick.x)} y={y(low) + 17} text-anchor="middle">
              {tick.word}
            </text>
          </g>
        ))}
        <path class="chart-axis" d={`M${x(left)} ${y(high)}V${y(low)}H${x(right)}`} />
        {diagonal ? <line class="chart-zero" x1={x(left)} y1={y(low)} x2={x(right)} y2={y(high)} /> : null}
        {lines.map((line, series) => (
          <g key={line.name}>
            <path class="chart-band" d={band(line.dots, x, y)} style={{ fill: colourOf(series) }} />
            <path
              d={line.dots.map((dot, at) => `${at ? "L" : "M"}${x(dot.x)} ${y(dot.y)}`).join("")}
              style={{ stroke: colourOf(series), strokeWidth: 2, fill: "none", strokeDasharray: dashOf(series) }}
            />
            {line.dots.map((dot) => (
              <g key={dot.x}>
                {dot.low !== null && dot.high !== null ? (
                  <line x1={x(dot.x)} x2={x(dot.x)} y1={y(dot.low)} y2={y(dot.high)} style={{ stroke: colourOf(series), strokeWidth: 1.5 }} />
                ) : null}
                <Mark x={x(dot.x)} y={y(dot.y)} series={series} />
              </g>
            ))}
          </g>
        ))}
        <text class="chart-quiet" x={(x(left) + x(right)) / 2} y={height - 6} text-anchor="middle">
          {across}
        </text>
        <text class="chart-quiet" x={-height / 2 + 16} y={13} text-anchor="middle" transform="rotate(-90)">
          {up}
        </text>
        {lines.length > 1
          ? lines.map((line, series) => (
              <g key={line.name} transform={`translate(${x(left) + 10} ${y(high) + 10 + series * 17})`}>
                <line x1={0} x2={22} y1={0} y2={0} style={{ stroke: colourOf(series), strokeWidth: 2, strokeDasharray: dashOf(series) }} />
                <Mark x={11} y={0} series={series} />
                <text x={29} y={4}>
                  {line.name}
                </text>
              </g>
            ))
          : null}
      </svg>
    </>
  );
}

function span(values: number[]): [number, number] {
  const low = Math.min(...values);
  const high = Math.max(...values);
  return low === high ? [low - 1, high + 1] : [low, high];
}

function band(dots: Dot[], x: (value: number) => number, y: (value: number) => number): string {
  const known = dots.filter((dot) => dot.low !== null && dot.high !== null);
  if (known.length < 2) return "";
  const over = known.map((dot) => `${x(dot.x)} ${y(dot.high ?? 0)}`);
  const under = known.map((dot) => `${x(dot.x)} ${y(dot.low ?? 0)}`).reverse();
  return `M${[...over, ...under].join("L")}Z`;
}
