import { beforeEach, describe, expect, it } from "vitest";
import { columnsOf } from "./columns";
import { EMPTY, asDraft, asReading, isEmpty, saveDraft, loadDraft } from "./draft";
import { markOf, ownBoxes, slicesPlace, trueBoxes, withBox, withMovedBox } from "./marks";

const place = ["set", "test", "case1"];
beforeEach(() => localStorage.clear());

describe("a draft", () => {
  it("survives a reload, and is gone when it is empty", () => {
    const { draft } = withBox({ ...EMPTY, choice: "B", sure: 80 }, null, "image-1", { x1: 1, y1: 2, x2: 3, y2: 4 });
    saveDraft(place, draft);
    expect(loadDraft(place)).toEqual(draft);
    expect(loadDraft(["set", "test", "case2"])).toBeNull();
    saveDraft(place, EMPTY);
    expect(localStorage.length).toBe(0);
  });

  it("is what can be understood of whatever lies there", () => {
    for (const bad of ["{", "7", "null", '"x"']) {
      localStorage.setItem("overread.draft.set/test/case1", bad);
      expect(loadDraft(place)).toBeNull();
    }
    const odd = { choice: 7, sure: 900, findings: [null, { text: 3, places: [{ kind: "mask", picture: "ct" }, { kind: "box", picture: "a", x1: "1" }] }] };
    localStorage.setItem("overread.draft.set/test/case1", JSON.stringify(odd));
    expect(loadDraft(place)).toEqual({ ...EMPTY, findings: [{ text: "", query: null, places: [] }] });
  });

  it("becomes a reading and comes back as it was", () => {
    const findings = [{ text: "A nodule", query: "0", places: [slicesPlace("ct", 3, 9)] }];
    const draft = { choice: "C", sure: 70, findings, report: "R", discussion: "D" };
    expect(asReading(draft, "anna", true)).toMatchObject({ confidence: 0.7, saw_truth: true, name: "anna" });
    expect(asDraft(asReading(draft, "anna", true))).toEqual(draft);
    expect(isEmpty({ ...EMPTY, report: "  \n" })).toBe(true);
  });
});

describe("marks", () => {
  const box = { x1: 1, y1: 2, x2: 3, y2: 4 };
  it("belong to the finding that is being written", () => {
    const first = withBox(EMPTY, null, "a", box);
    const second = withBox(first.draft, first.at, "b", box);
    expect(second.draft.findings).toHaveLength(1);
    expect(ownBoxes(second.draft, "b", "own:0:1")).toMatchObject([{ id: "own:0:1", chosen: true, kind: "reader" }]);
    const mark = markOf("own:0:1");
    const moved = mark ? withMovedBox(second.draft, mark, { ...box, x2: 9 }) : EMPTY;
    expect(moved.findings[0]?.places.map((one) => one.x2)).toEqual([3, 9]);
    const several = withBox(EMPTY, null, "a", box, true).draft;
    expect(several.findings[0]?.places.map((one) => one.kind)).toEqual(["whole", "box"]);
    expect(markOf("truth:finding-0:0")).toBeNull();
  });

  it("of the truth are those that are pointed at, or all", () => {
    const at = (n: number) => ({ kind: "box" as const, picture: "a", ...box, label: `${n}`, axis: null, first: null, last: null });
    const finding = (n: number) => ({
      text: `${n}`,
      places: [at(n)],
      category: null,
      category_name: null,
      parent_name: null,
      query: null,
      entities: null,
      voxels: null,
    });
    const truth = { released: true, findings: [finding(0), finding(1)] };
    expect(trueBoxes(null, "a", null)).toEqual([]);
    expect(trueBoxes(truth, "a", null)).toHaveLength(2);
    expect(trueBoxes(truth, "other", null)).toEqual([]);
    expect(trueBoxes(truth, "a", { key: "1", text: "1", places: [at(1)] })).toMatchObject([{ label: "1", chosen: true }]);
  });
});

describe("time points", () => {
  const film = (name: string, timepoint: number | null) => ({ name, kind: "image" as const, timepoint, width: 1, height: 1, deep: false, shape: null, problem: null });
  it("stand in columns, the earliest first, what is not stated last", () => {
    const found = columnsOf([film("c", null), film("b", 2), film("a", 1)]);
    expect(found.map((one) => [one.title, one.pictures.map((p) => p.name)])).toEqual([
      ["Time point 1", ["a"]],
      ["Time point 2", ["b"]],
      ["Time not stated", ["c"]],
    ]);
    expect(columnsOf([film("b", 1), film("a", 1)])).toHaveLength(1);
  });
});
