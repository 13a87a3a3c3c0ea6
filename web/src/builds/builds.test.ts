import { inOneLine } from "./ShownData";
import { describe, expect, it } from "vitest";
import { EMPTY, correctedData, draftOf, fitBox, freshId, markedSlices, toggleReason } from "./draft";
import { RESERVED, reasonKeys, verdictKeys } from "./keys";

const CODES = [
  "wrong-place", "wrong-extent", "wrong-side", "not-visible", "wrong-finding", "contradicts-report", "unsupported",
  "missed", "not-shown", "poor-picture", "ambiguous", "not-covered", "other",
];

describe("keys", () => {
  it("gives digits to verdicts and 0 to 'cannot judge', which is never twice", () => {
    expect([...verdictKeys(["accept", "cannot judge", "reject"])]).toEqual([
      ["1", "accept"],
      ["2", "reject"],
      ["0", "cannot judge"],
    ]);
    expect(verdictKeys(Array.from({ length: 30 }, (_, n) => `c${n}`)).size).toBe(10);
  });
  it("gives each reason a letter of its own, none of which does something else", () => {
    const keys = reasonKeys(CODES);
    expect([...keys.values()]).toEqual(CODES);
    for (const key of keys.keys()) expect(RESERVED).not.toContain(key);
  });
  it("goes without a letter where none is left", () => {
    const many = Array.from({ length: 40 }, (_, n) => `code${n}`);
    expect(reasonKeys(many).size).toBe(26 - RESERVED.length);
  });
});

describe("corrected data", () => {
  const box = { id: "draft-1", x1: 10.4, y1: 20, x2: 30, y2: 40 };
  it("has one box as 'box', several as 'boxes', as at the terminal", () => {
    expect(correctedData({ ...EMPTY, boxes: [box] })).toEqual({ box: [10, 20, 30, 40] });
    const two = { ...EMPTY, boxes: [box, { ...box, id: "draft-2", x2: 50 }] };
    expect(correctedData(two)).toEqual({ boxes: [[10, 20, 30, 40], [10, 20, 50, 40]] });
  });
  it("is nothing where nothing was corrected", () => expect(correctedData(EMPTY)).toBeNull());
  it("marks slices in either order", () => {
    expect(markedSlices({ ...EMPTY, first: 14, last: 12 })).toEqual([12, 13, 14]);
    expect(correctedData({ ...EMPTY, first: null, last: 7 })).toEqual({ slices: [7] });
  });
  it("comes back from a verdict that was taken back", () => {
    const given = { question: "q", item: "i", kind: "k", verdict: "reject", reasons: ["wrong-side"], note: "low", at: "" };
    const data = { boxes: [[1, 2, 3, 4], [5, 6, 7, 8]], of: ["heart", ""], slices: [3, 4, 5], other: 1 };
    const draft = draftOf({ ...given, corrected: data });
    expect(draft.verdict).toBe("reject");
    expect(correctedData(draft)).toEqual(data);
    expect(correctedData(draftOf({ ...given, corrected: null }))).toBeNull();
    const apart = { slices: [12, 13, 20] }; // as the terminal allows: they stay as they were
    expect(correctedData(draftOf({ ...given, corrected: apart }))).toEqual(apart);
  });
  it("survives corrected data of any shape", () => {
    const given = { question: "q", item: "i", kind: "k", verdict: "reject", reasons: [], note: "", at: "" };
    expect(draftOf({ ...given, corrected: { box: "no", slices: [] } }).boxes).toEqual([]);
  });
});

it("toggles reasons, names boxes apart, keeps boxes in the picture", () => {
  expect(toggleReason(toggleReason([], "a"), "a")).toEqual([]);
  expect(freshId([{ id: "draft-2", x1: 0, y1: 0, x2: 1, y2: 1 }])).toBe("draft-3");
  expect(fitBox({ x1: -5, y1: 3, x2: NaN, y2: 999 }, 100, 50)).toEqual({ x1: 0, y1: 3, x2: 1, y2: 50 });
});

it("tells short lists and records in one line, and leaves the rest to be laid out", () => {
  expect(inOneLine(["right lung", [58, 68, 285, 570]])).toBe("right lung, [58, 68, 285, 570]");
  expect(inOneLine([58, 67, 509, 570])).toBe("[58, 67, 509, 570]");
  expect(inOneLine({ verdict: "accept", problem: "", look: 2, regions: ["spine", "carina"] })).toBe("verdict: accept · look: 2 · regions: spine, carina");
  expect(inOneLine(["one", "two"])).toBeNull();
  expect(inOneLine([{ a: 1 }])).toBeNull();
  expect(inOneLine({ text: "Clear.", told: { lungs: ["left", "right"] }, rest: {} })).toBe("text: Clear. · told: (lungs: left, right)");
  expect(inOneLine({ a: [[1]] })).toBeNull();
  expect(inOneLine(Array.from({ length: 99 }, (_, n) => n))).toBeNull();
});
