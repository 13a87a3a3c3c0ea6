// From the points of a sweep to lines: along the first axis of numbers, one for each other combination.
import type { Schemas } from "../api/client";
import type { Dot, Line } from "../charts/Curve";

type SweepResult = Schemas["SweepTable"];
type Axis = Schemas["SweepAxis"];

interface Lines {
  along: Axis | null;
  lines: Line[];
  /** Words at the axis, where its values are no numbers. */
  words: { x: number; word: string }[] | null;
}

export function linesOf(found: SweepResult, metric: string): Lines {
  const along = found.axes.find((axis) => axis.numbers && axis.values.length > 1) ?? found.axes[0] ?? null;
  if (!along) return { along, lines: [], words: null };
  const numbers = along.values.length > 1 ? along.numbers : null;
  const placeOf = (value: string) => {
    const at = along.values.indexOf(value);
    return numbers ? (numbers[at] ?? at) : at;
  };
  const others = found.axes.filter((axis) => axis !== along);
  const lines = new Map<string, Dot[]>();
  for (const point of found.points) {
    const score = point.scores[metric];
    if (!score || score.value === null) continue;
    const name = others.map((axis) => `${axis.name} ${point.values[axis.name]}`).join(", ");
    const dots = lines.get(name) ?? [];
    dots.push({ x: placeOf(point.values[along.name] ?? ""), y: score.value, low: score.low ?? null, high: score.high ?? null });
    lines.set(name, dots);
  }
  return {
    along,
    lines: [...lines].map(([name, dots]) => ({ name, dots: dots.sort((one, two) => one.x - two.x) })),
    words: numbers ? null : along.values.map((word, x) => ({ x, word })),
  };
}
