import { describe, expect, it } from "vitest";
import { placeLabels } from "./labels";
import { AS_STORED, PRESETS, changeWindow, isAsStored, toLinear, nextPreset, presetOf, windowText } from "./window_level";

describe("window and level", () => {
  it("shows its own black as black and its white as white", () => {
    for (const inverted of [false, true]) {
      const { slope, intercept } = toLinear({ low: 64, high: 191, inverted });
      expect((64 / 255) * slope + intercept).toBeCloseTo(inverted ? 1 : 0);
      expect((191 / 255) * slope + intercept).toBeCloseTo(inverted ? 0 : 1);
    }
    expect(toLinear(AS_STORED)).toEqual({ slope: 1, intercept: -0 });
  });

  it("gets brighter with a lower level and never has an empty window", () => {
    expect(changeWindow(AS_STORED, 0, 10)).toMatchObject({ low: -10, high: 245 });
    const narrow = changeWindow(AS_STORED, -10_000, 0);
    expect(narrow.high - narrow.low).toBe(0.25);
    // A narrow window is changed in finer steps.
    expect(changeWindow({ low: 100, high: 151, inverted: false }, 10, 0)).toMatchObject({ low: 99, high: 152 });
  });

  it("goes round through all presets", () => {
    let windowLevel = AS_STORED;
    const seen = PRESETS.map(() => {
      windowLevel = nextPreset(windowLevel);
      return presetOf(windowLevel);
    });
    expect(new Set(seen).size).toBe(PRESETS.length);
    expect(isAsStored(windowLevel)).toBe(true);
    expect(windowText({ ...windowLevel, inverted: true })).toBe("W 255 L 128 inverted");
  });
});

describe("labels", () => {
  const room = { width: 300, height: 200 };
  it("do not lie over each other, and stay in the view", () => {
    const box = { x1: 250, y1: 5, x2: 290, y2: 60 };
    const found = placeLabels([1, 2, 3, 4].map((n) => ({ box, label: `a label of some length ${n}` })), room);
    const tops = found.map((one) => one?.y ?? -1).sort((a, b) => a - b);
    expect(Math.min(...tops.slice(1).map((y, n) => y - (tops[n] ?? 0)))).toBeGreaterThanOrEqual(18);
    for (const one of found) expect((one?.x ?? 999) + (one?.width ?? 0)).toBeLessThanOrEqual(room.width);
  });

  it("are left away where the box is out of sight, and cut where they are long", () => {
    const [gone, long] = placeLabels(
      [
        { box: { x1: -50, y1: 0, x2: -5, y2: 9 }, label: "gone" },
        { box: { x1: 0, y1: 0, x2: 9, y2: 9 }, label: "x".repeat(500) },
      ],
      room,
    );
    expect(gone).toBeNull();
    expect(long?.text.length).toBe(44);
  });
});
