import { describe, expect, it } from "vitest";
import { deepText, greyTable, parseValues, valueOf } from "./Depth";
import { AS_STORED } from "./window_level";

const headers = (more: Record<string, string> = {}) =>
  new Headers({ "x-width": "2", "x-height": "1", "x-base": "-1000", "x-step": "1", "x-low": "-160", "x-high": "240", "x-inverted": "0", ...more });

describe("greys of more than 8 bits", () => {
  const values = parseValues(new Uint16Array([0, 1040]).buffer, headers());
  if (!values) throw new Error("not understood");

  it("are shown as the 8-bit picture until the window is changed", () => {
    const greys = greyTable(AS_STORED, values);
    expect([greys[840], greys[1040], greys[1240]]).toEqual([0, 128, 255]);
    expect(valueOf(255, values)).toBe(240);
    expect(deepText(AS_STORED, values)).toBe("W 400 L 40 (values)");
  });

  it("show what 8 bits cut off, and are turned over where low is bright", () => {
    expect(greyTable({ low: 0, high: 2550, inverted: false }, values)[1240]).toBeCloseTo(26, 0);
    const turned = parseValues(new Uint16Array([0, 1]).buffer, headers({ "x-inverted": "1" }));
    expect(turned && greyTable(AS_STORED, turned)[840]).toBe(255);
    expect(greyTable({ ...AS_STORED, inverted: true }, values)[840]).toBe(255);
  });

  it("are not believed where they are not what was said", () => {
    expect(parseValues(new Uint16Array([0]).buffer, headers())).toBeNull();
    expect(parseValues(new Uint16Array([0, 1]).buffer, headers({ "x-high": "-160" }))).toBeNull();
    expect(parseValues(new Uint16Array([0, 1]).buffer, new Headers())).toBeNull();
  });
});
