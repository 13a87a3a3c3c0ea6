// Marks of the series of a chart: each has a colour, a shape and a dash of its own.

const DASHES = ["", "6 3", "2 3", "8 3 2 3", "12 3", "1 4"];
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "ring"] as const;

export function colourOf(series: number): string {
  return `var(--series-${(series % 6) + 1})`;
}

export function dashOf(series: number): string {
  return DASHES[series % DASHES.length] ?? "";
}

/** A mark of about ten pixels. */
export function Mark({ x, y, series }: { x: number; y: number; series: number }) {
  const fill = colourOf(series);
  const r = 4.5;
  switch (SHAPES[series % SHAPES.length]) {
    case "square":
      return <rect x={x - r} y={y - r} width={2 * r} height={2 * r} style={{ fill }} />;
    case "triangle":
      return <path d={`M${x} ${y - 5.5}L${x + 5.5} ${y + r}L${x - 5.5} ${y + r}Z`} style={{ fill }} />;
    case "diamond":
      return <path d={`M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`} style={{ fill }} />;
    case "cross":
      return <path d={`M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`} style={{ stroke: fill, strokeWidth: 2.5 }} />;
    case "ring":
      return <circle cx={x} cy={y} r={r} style={{ stroke: fill, strokeWidth: 2, fill: "var(--sheet)" }} />;
    default:
      return <circle cx={x} cy={y} r={r} style={{ fill }} />;
  }
}
