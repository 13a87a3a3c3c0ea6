import { describe, expect, it } from "vitest";
import { type TraceRegion, type Row, placesBeside, boxesOn, pairsOf, splitAtImages, rowOfBox, rowsOf, verdictsOfRow } from "./rows";

const place = (box: [number, number, number, number] | null, more: Partial<TraceRegion> = {}): TraceRegion => ({
  kind: box ? "box" : "whole",
  picture: "xray",
  told: "there",
  label: null,
  box,
  axis: null,
  first: null,
  last: null,
  channel: null,
  entity: null,
  problem: null,
  drawable: true,
  ...more,
});
const row = (number: number, regions: TraceRegion[], more: Partial<Row> = {}): Row => ({ of: "steps", index: number - 1, number, kind: "say", text: "words", regions, exchange: null, level: null, ...more });

describe("words with cut-outs between", () => {
  it("puts a place wherever a mark stands", () => {
    expect(splitAtImages("First <image> then <image>.", 2)).toEqual([{ words: "First" }, { place: 0 }, { words: "then" }, { place: 1 }, { words: "." }]);
  });
  it("leaves out marks that have no place", () => {
    expect(splitAtImages("<image><image>end", 1)).toEqual([{ place: 0 }, { words: "end" }]);
  });
  it("does not show beside what stands in the words, or what the row before shows", () => {
    const look = row(1, [place([0, 0, 9, 9])], { text: "<image>", kind: "look" });
    expect(placesBeside(look)).toEqual([]);
    expect(placesBeside(row(2, [place([0, 0, 9, 9]), place([1, 1, 5, 5])]), look)).toEqual([1]);
    expect(placesBeside(row(3, [place([0, 0, 9, 9], { drawable: false })]))).toEqual([]);
  });
});

describe("boxes on a picture", () => {
  it("draws the chosen one last, and each place once", () => {
    const rows = [row(1, [place([0, 0, 9, 9])]), row(2, [place([1, 1, 5, 5])]), row(3, [place([0, 0, 9, 9])])];
    const found = boxesOn("xray", rows.map((one) => ({ row: one, truth: false, chosen: one.number === 3 })));
    expect(found.map((box) => [box.id, box.kind])).toEqual([
      ["reader-2-0", "plain"],
      ["reader-3-0", "reader"],
    ]);
    expect(rowOfBox("reader-3-0")).toEqual({ truth: false, number: 3 });
    expect(rowOfBox("x")).toBeNull();
  });
  it("leaves out other pictures and what is no box", () => {
    expect(boxesOn("other", [{ row: row(1, [place([0, 0, 9, 9])]), truth: false, chosen: true }])).toEqual([]);
    expect(boxesOn("xray", [{ row: row(1, [place(null)]), truth: false, chosen: true }])).toEqual([]);
  });
});

it("takes findings for steps where there are none", () => {
  const finding = { index: 0, text: "A mass", regions: [], query: null, category: null };
  expect(rowsOf({ steps: [], findings: [finding] })).toMatchObject([{ of: "findings", number: 1, kind: "finding" }]);
});

it("pairs both ways, and says where there is none", () => {
  const rows = [row(1, [place([0, 0, 9, 9])]), row(2, [place([1, 1, 2, 2])], { index: 5 })];
  const theirs = [row(1, []), row(2, [], { index: 3 })];
  const counterparts = [
    { step: 0, reference: 3, why: "the same name", overlap: 0.5 },
    { step: 5, reference: null, why: "no counterpart", overlap: null },
  ];
  const pairs = pairsOf(rows, { released: true, answer: null, answer_text: null, steps: [], is_trace: true, findings: [], report: null, discussion: null, counterparts }, theirs);
  expect(pairs.ofReading.get(1)).toEqual({ number: 2, why: "the same name", overlap: 0.5 });
  expect(pairs.ofReading.get(2)).toBeNull();
  expect(pairs.ofReference.get(2)).toEqual([1]);
});

it("counts the verdicts on a step", () => {
  const verdict = (holds: boolean, step: number | null) => ({ text: "t", holds, judged: true, critical: false, reason: "", errors: [], section: null, step });
  const judgement = { kind: "steps" as const, judge: "j", rule: "r", stale: false, error: null, missing: 0, education: [], verdicts: [verdict(true, 0), verdict(false, 0), verdict(true, null)] };
  expect(verdictsOfRow(row(1, []), judgement)).toMatchObject({ hold: 1, wrong: [{ holds: false }] });
  expect(verdictsOfRow(row(2, []), judgement)).toBeNull();
});
