import { describe, expect, it } from "vitest";
import type { Schemas } from "../api/client";
import { rowFilter } from "./CaseTable";
import { groupsOf } from "./run_groups";
import { formatInterval, byReason, formatP, formatScore, formatSigned, formatWithInterval } from "../kit/numbers";
import { sortedBy } from "./sorting";
import { linesOf } from "./sweep_lines";
import { shortNames } from "./short_names";
import { diffWords, sharedFraction } from "./word_diff";

describe("numbers", () => {
  it("has the places of the terminal", () => {
    expect(formatScore(0.51234)).toBe("0.512");
    expect(formatScore(12.345)).toBe("12.35");
    expect(formatScore(0.5, [120])).toBe("0.5");
    expect(formatScore(null)).toBe("–");
    expect(formatWithInterval({ value: 0.5, low: 0, high: 1 })).toBe("0.500 (0.000 – 1.000)");
    expect(formatInterval({ value: 0.5, low: null, high: null })).toBe("");
  });
  it("tells which way a difference goes, and how small a p is", () => {
    expect(formatSigned(-0.25)).toBe("−0.250");
    expect(formatSigned(0)).toBe("+0.000");
    expect(formatP(0.0004)).toBe("< 0.001");
  });
  it("puts names with one reason together", () => {
    expect(byReason({ a: "x", b: "y", c: "x" })).toEqual([
      ["x", ["a", "c"]],
      ["y", ["b"]],
    ]);
  });
});

describe("order", () => {
  it("sorts numbers, and puts what has none last either way", () => {
    const rows = [{ v: 2 }, { v: null }, { v: 10 }, { v: 1 }];
    expect(sortedBy(rows, (row) => row.v, false).map((row) => row.v)).toEqual([1, 2, 10, null]);
    expect(sortedBy(rows, (row) => row.v, true).map((row) => row.v)).toEqual([10, 2, 1, null]);
  });
  it("sorts names as people do", () => {
    expect(sortedBy(["case10", "case2"], (row) => row, false)).toEqual(["case2", "case10"]);
  });
});

describe("names of runs", () => {
  it("leaves out the folders that all share, and never the last part", () => {
    expect(shortNames(["runs/mmrad/atlas", "runs/mmrad/oracle"])).toEqual(["atlas", "oracle"]);
    expect(shortNames(["runs/a/x", "runs/b/x"])).toEqual(["a/x", "b/x"]);
    expect(shortNames(["runs/a", "runs/a/b"])).toEqual(["a", "a/b"]);
    expect(shortNames(["x", "x"])).toEqual(["x", "x"]);
    expect(shortNames(["runs/mmrad/atlas"])).toEqual(["runs/mmrad/atlas"]);
    expect(shortNames([])).toEqual([]);
  });
});

describe("words of two readers", () => {
  it("marks what the other lacks, and loses nothing", () => {
    const text = "Small left effusion.  No nodule.";
    const pieces = diffWords(text, "small right effusion, no nodule");
    expect(pieces.map((piece) => piece.text).join("")).toBe(text);
    expect(pieces.filter((piece) => piece.only).map((piece) => piece.text)).toEqual(["left"]);
  });
  it("tells numbers and signs apart, and every sign where it must be exact", () => {
    const marked = (one: string, other: string, exact = false) => diffWords(one, other, exact).filter((piece) => piece.only).map((piece) => piece.text);
    expect(marked("a 15 cm mass", "a 1.5 cm mass")).toEqual(["15"]);
    expect(marked("<5 mm", ">5 mm")).toEqual(["<5"]);
    expect(marked("(Left) lobe.", "left lobe")).toEqual([]);
    expect(marked("Left lobe.", "left lobe", true)).toEqual(["Left lobe."]);
    expect(marked("left  lobe", "left lobe", true)).toEqual([]);
  });
  it("goes by order, and by number for very long texts", () => {
    expect(diffWords("a b a", "a").filter((piece) => piece.only).length).toBe(1);
    const long = Array.from({ length: 2000 }, (_, n) => `w${n}`).join(" ");
    expect(diffWords(long, long).every((piece) => !piece.only)).toBe(true);
  });
});

const row = (more: Partial<Schemas["RunCaseRow"]>): Schemas["RunCaseRow"] => ({
  case: "c1",
  state: "read",
  error: null,
  choices: ["A"],
  right: [true],
  values: [],
  sure: 0.5,
  steps: 0,
  findings: 0,
  calls: 0,
  tokens: 0,
  seconds: 0,
  cost: null,
  ...more,
});

describe("cases that are wanted", () => {
  const all = { state: "", right: "", sure: "", text: "" };
  it("keeps all without a wish", () => expect(rowFilter(all)(row({}))).toBe(true));
  it("goes by right and wrong, and by neither where that is not told", () => {
    expect(rowFilter({ ...all, right: "0" })(row({ right: [false] }))).toBe(true);
    expect(rowFilter({ ...all, right: "0" })(row({ right: [true] }))).toBe(false);
    expect(rowFilter({ ...all, right: "1" })(row({ right: null }))).toBe(false);
    expect(rowFilter({ ...all, right: "0" })(row({ right: [], state: "missing" }))).toBe(true);
  });
  it("has bins that hold their upper end", () => {
    expect(rowFilter({ ...all, sure: "0.4-0.5" })(row({ sure: 0.5 }))).toBe(true);
    expect(rowFilter({ ...all, sure: "0.5-0.6" })(row({ sure: 0.5 }))).toBe(false);
  });
});

describe("lines of a sweep", () => {
  const point = (values: Record<string, string>, value: number) =>
    ({ name: "", run: null, values, cases: 1, readings: 1, failed: 0, not_scored: {}, agreement: null, differences: {}, scores: { m: { value, low: null, high: null, n: 1, method: "", note: "", better: "higher", about: "", reference: "" } } }) as Schemas["PointOfSweep"];
  it("goes along the first axis of numbers, one line for each other value", () => {
    const found = {
      axes: [
        { name: "kind", values: ["a", "b"], numbers: null },
        { name: "image_ratio", values: ["100", "0"], numbers: [100, 0] },
      ],
      points: [point({ kind: "a", image_ratio: "100" }, 1), point({ kind: "a", image_ratio: "0" }, 0.5), point({ kind: "b", image_ratio: "0" }, 0.2)],
    } as unknown as Schemas["SweepTable"];
    const { along, lines, words } = linesOf(found, "m");
    expect(along?.name).toBe("image_ratio");
    expect(words).toBeNull();
    expect(lines.map((line) => [line.name, line.dots.map((dot) => [dot.x, dot.y])])).toEqual([
      ["kind a", [[0, 0.5], [100, 1]]],
      ["kind b", [[0, 0.2]]],
    ]);
  });
});

describe("runs that belong together", () => {
  const run = (id: string, dataset: string | null) => ({ id, name: id, benchmark: "b", split: "test", dataset, reader: "r", workflow: null });
  it("keeps copies of a dataset apart, and names them where there are several", () => {
    const datasets = [{ id: "d1", name: "one" }] as unknown as Schemas["ShelfDataset"][];
    expect(groupsOf({ runs: [run("a", "d1"), run("b", "d1")], datasets }).map(([title, runs]) => [title, runs.length])).toEqual([["b · test", 2]]);
    expect(groupsOf({ runs: [run("a", "d1"), run("b", null)], datasets }).map(([title]) => title)).toEqual(["b · test · one", "b · test · dataset not found"]);
  });
});

describe("how much two texts share", () => {
  it("is all of the same and nothing of another", () => {
    expect(sharedFraction(diffWords("a small nodule", "A small nodule."))).toBe(1);
    expect(sharedFraction(diffWords("a small nodule", "effusion"))).toBe(0);
  });
});
