import { describe, expect, it } from "vitest";
import type { RegionTold, TracedReading } from "../traces/rows";
import { drawableRegions } from "./RegionPictures";

function region(told: string, more: Partial<RegionTold> = {}): RegionTold {
  return { kind: "box", picture: "xray", told, drawable: true, ...more } as RegionTold;
}

function reading(findings: RegionTold[], steps: RegionTold[] = []): Pick<TracedReading, "steps" | "findings"> {
  return {
    findings: [{ index: 0, text: "A nodule.", regions: findings }],
    steps: [{ index: 0, kind: "look", text: "", regions: steps, exchange: null }],
  } as unknown as Pick<TracedReading, "steps" | "findings">;
}

describe("what is drawn of a reading", () => {
  it("shows each place of a finding once", () => {
    expect(drawableRegions(reading([region("left lung"), region("left lung"), region("heart")])).map((one) => one.told)).toEqual(["left lung", "heart"]);
  });
  it("leaves out whole pictures and what cannot be drawn", () => {
    expect(drawableRegions(reading([region("all", { kind: "whole" }), region("gone", { drawable: false })]))).toEqual([]);
  });
  it("falls back on the steps", () => {
    const [first] = drawableRegions(reading([], [region("left lung")]));
    expect(first?.row.of).toBe("steps");
  });
});
