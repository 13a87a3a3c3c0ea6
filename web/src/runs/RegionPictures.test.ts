import { describe, expect, it } from "vitest";
import type { TraceRegion, TracedReading } from "../traces/rows";
import { drawableRegions } from "./RegionPictures";

function region(told: string, more: Partial<TraceRegion> = {}): TraceRegion {
  return { kind: "box", picture: "xray", told, drawable: true, ...more } as TraceRegion;
}

function reading(findings: TraceRegion[], steps: TraceRegion[] = []): Pick<TracedReading, "steps" | "findings"> {
  return {
    findings: [{ index: 0, text: "A nodule.", regions: findings }],
    steps: [{ index: 0, kind: "look", text: "", regions: steps, exchange: null }],
  } as unknown as Pick<TracedReading, "steps" | "findings">;
}

describe("what is drawn of a reading", () => {
  it("shows each place of a finding once", () => {
    expect(drawableRegions(reading([region("left lung"), region("left lung"), region("heart")])).map((one) => one.text)).toEqual(["left lung", "heart"]);
  });
  it("leaves out whole pictures and what cannot be drawn", () => {
    expect(drawableRegions(reading([region("all", { kind: "whole" }), region("gone", { drawable: false })]))).toEqual([]);
  });
  it("falls back on the steps", () => {
    const [first] = drawableRegions(reading([], [region("left lung")]));
    expect(first?.row.of).toBe("steps");
  });
});
