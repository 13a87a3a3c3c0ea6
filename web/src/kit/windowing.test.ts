import { describe, expect, it } from "vitest";
import { visibleRows, moveByKey, scrollToRow, shapeOf } from "./windowing";

describe("the window on the grid", () => {
  it("has as many columns as fit, and at least one", () => {
    expect(shapeOf(8000, 1100, 168, 12)).toEqual({ columns: 6, rows: 1334 });
    expect(shapeOf(3, 0, 168, 12)).toEqual({ columns: 1, rows: 3 });
  });
  it("draws what is in sight and two rows around", () => {
    expect(visibleRows(0, 500, 100, 50)).toEqual([0, 7]);
    expect(visibleRows(1000, 500, 100, 50)).toEqual([8, 17]);
    expect(visibleRows(4900, 500, 100, 50)).toEqual([47, 50]);
  });
  it("draws nothing of nothing, and never an end before a beginning", () => {
    expect(visibleRows(0, 500, 100, 0)).toEqual([0, 0]);
    const [first, last] = visibleRows(9000, 500, 100, 3);
    expect(last).toBeGreaterThanOrEqual(first);
  });
});

describe("keys", () => {
  // 10 cases in 4 columns: rows 0-3, 4-7, 8-9.
  it.each([
    ["ArrowRight", 0, 1],
    ["ArrowLeft", 0, 0],
    ["ArrowRight", 9, 9],
    ["ArrowDown", 1, 5],
    ["ArrowDown", 7, 9],
    ["ArrowDown", 8, 8],
    ["ArrowUp", 2, 2],
    ["ArrowUp", 6, 2],
    ["PageUp", 5, 1],
    ["PageDown", 5, 9],
    ["Home", 7, 0],
    ["End", 2, 9],
  ])("%s from %i leads to %i", (key, from, to) => {
    expect(moveByKey(key, from, 10, 4, 2)).toBe(to);
  });
  it("leaves other keys alone", () => {
    expect(moveByKey("a", 0, 10, 4, 2)).toBeNull();
    expect(moveByKey("ArrowDown", 0, 0, 4, 2)).toBeNull();
  });
  it("scrolls only as far as it must", () => {
    expect(scrollToRow(3, 100, 0, 500)).toBeNull();
    expect(scrollToRow(7, 100, 0, 500)).toBe(300);
    expect(scrollToRow(2, 100, 450, 500)).toBe(200);
  });
});
