import { describe, expect, it } from "vitest";
import { match, to } from "./router";

describe("addresses", () => {
  it("finds the named parts of a path", () => {
    expect(match("/runs/:run/cases/:case", "/runs/a-1/cases/p7%231")).toEqual({ run: "a-1", case: "p7#1" });
  });
  it("knows another shape from its own", () => {
    expect(match("/runs/:run", "/runs/a/b")).toBeNull();
    expect(match("/runs/:run", "/datasets/a")).toBeNull();
    expect(match("/runs/:run", "/runs/%E0%A4%A")).toBeNull();
  });
  it("makes every part safe", () => {
    expect(to("cases", "../x", "#1?")).toBe("/cases/..%2Fx/%231%3F");
  });
});
