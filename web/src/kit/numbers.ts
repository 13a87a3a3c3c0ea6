// Numbers as people read them, the same as in the terminal.

/** With so many places; '–' where there is none. */
export function formatNumber(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(digits);
}

export interface IntervalValue {
  value: number | null;
  low?: number | null;
  high?: number | null;
  note?: string;
}

/** Three places; large ones, or those among large ones, two or one. */
export function formatScore(value: number | null | undefined, among: readonly (number | null | undefined)[] = []): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const largest = Math.max(...[value, ...among].map((one) => Math.abs(one ?? 0)));
  return value.toFixed(largest < 10 ? 3 : largest < 100 ? 2 : 1);
}

/** The interval, or in a few words why there is none. */
export function formatInterval(score: IntervalValue | null | undefined): string {
  if (!score || score.value === null) return "";
  if (score.low === null || score.high === null || score.low === undefined || score.high === undefined) return score.note?.split(":")[0] ?? "";
  const all = [score.value, score.low, score.high];
  return `${formatScore(score.low, all)} – ${formatScore(score.high, all)}`;
}

export function formatValue(score: IntervalValue | null | undefined): string {
  return score ? formatScore(score.value, [score.low, score.high]) : "–";
}

/** A number with its interval in brackets. */
export function formatWithInterval(score: IntervalValue | null | undefined): string {
  const inside = formatInterval(score);
  return inside ? `${formatValue(score)} (${inside})` : formatValue(score);
}

export function formatSigned(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
}

export function formatSignedWithInterval(span: IntervalValue): string {
  if (span.low === null || span.low === undefined || span.high === null || span.high === undefined) return formatSigned(span.value);
  return `${formatSigned(span.value)} (${formatSigned(span.low)} to ${formatSigned(span.high)})`;
}

export function formatP(p: number | null | undefined): string {
  if (p === null || p === undefined) return "–";
  return p < 0.001 ? "< 0.001" : p.toFixed(3);
}

export function percent(share: number | null | undefined): string {
  return share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`;
}

export function formatCount(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

export const ARROWS = { higher: "↑", lower: "↓" } as const;

/** Names with the same reason, together. */
export function byReason(reasons: Record<string, string>): [why: string, names: string[]][] {
  const found = new Map<string, string[]>();
  for (const [name, why] of Object.entries(reasons)) found.set(why, [...(found.get(why) ?? []), name]);
  return [...found];
}
