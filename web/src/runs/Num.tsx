// A number with its interval, small beside it.
import type { ComponentChildren } from "preact";
import { type Spanned, between, signed, valued } from "./numbers";

/** `around` wraps the number itself, for instance in a link to the cases behind it. */
export function Num({ of, around }: { of: Spanned | null | undefined; around?: (value: string) => ComponentChildren }) {
  const value = valued(of);
  return (
    <span class="runs-num">
      {around ? around(value) : value} <span class="quiet-text">{between(of)}</span>
    </span>
  );
}

/** A difference, with its sign. */
export function Change({ of, around }: { of: Spanned; around?: (value: string) => ComponentChildren }) {
  const known = typeof of.low === "number" && typeof of.high === "number";
  return (
    <span class="runs-num">
      {around ? around(signed(of.value)) : signed(of.value)} <span class="quiet-text">{known ? `${signed(of.low)} to ${signed(of.high)}` : ""}</span>
    </span>
  );
}
