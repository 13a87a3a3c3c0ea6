// A number with its interval, small beside it.
import type { ComponentChildren } from "preact";
import { type IntervalValue, formatInterval, formatSigned, formatValue } from "../kit/numbers";

/** `around` wraps the number itself, for instance in a link to the cases behind it. */
export function Num({ of, around }: { of: IntervalValue | null | undefined; around?: (value: string) => ComponentChildren }) {
  const value = formatValue(of);
  return (
    <span class="runs-num">
      {around ? around(value) : value} <span class="quiet-text">{formatInterval(of)}</span>
    </span>
  );
}

/** A difference, with its sign. */
export function Change({ of, around }: { of: IntervalValue; around?: (value: string) => ComponentChildren }) {
  const known = typeof of.low === "number" && typeof of.high === "number";
  return (
    <span class="runs-num">
      {around ? around(formatSigned(of.value)) : formatSigned(of.value)} <span class="quiet-text">{known ? `${formatSigned(of.low)} to ${formatSigned(of.high)}` : ""}</span>
    </span>
  );
}
