// From numbers to places on a chart, and the numbers that stand at its axis.

/** A straight scale from a range of numbers to a range of pixels. */
export function scaleOf(low: number, high: number, from: number, to: number): (value: number) => number {
  const width = high - low || 1;
  return (value) => from + ((value - low) / width) * (to - from);
}

/** Round numbers within a range, about as many as asked for. */
export function ticksOf(low: number, high: number, wanted = 5): number[] {
  const width = high - low;
  if (!(width > 0) || !Number.isFinite(width)) return [low];
  const rough = width / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((each) => each >= rough) ?? rough;
  const ticks: number[] = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}

/** Ends of an axis that hold all numbers: round ones, and 0 to 1 where all lie therein. */
export function axisRange(values: readonly (number | null | undefined)[], how: { zero?: boolean; share?: boolean } = {}): [number, number] {
  const known = values.filter((value): value is number => typeof value === "number" && Number.isFinite(value));
  if (how.zero) known.push(0);
  if (!known.length) return [0, 1];
  const low = Math.min(...known);
  const high = Math.max(...known);
  if (how.share && low >= 0 && high <= 1) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  const ticks = ticksOf(low - room, high + room);
  const step = ticks.length > 1 ? (ticks[1] ?? 0) - (ticks[0] ?? 0) : high - low || 1;
  return [Math.floor((low - room) / step) * step, Math.ceil((high + room) / step) * step];
}

/** A number at an axis. */
export function formatTick(value: number): string {
  if (Math.abs(value) >= 1000) return value.toLocaleString("en");
  return String(Number(value.toPrecision(6)));
}

/** About how wide a text is, at the charts' size of type. */
export function widthOf(text: string): number {
  return text.length * 6.9;
}

/** A text cut to a width, with an ellipsis in its middle: ends of names tell most. */
export function truncateTo(text: string, width: number): string {
  const room = Math.max(4, Math.floor(width / 6.9));
  if (text.length <= room) return text;
  const half = (room - 1) / 2;
  return `${text.slice(0, Math.ceil(half))}…${text.slice(text.length - Math.floor(half))}`;
}
