import { describe, expect, it } from "vitest";
import { type Facet, chosenFilters, makeSearch, namesOf, sortCases, filterCases, toggleFilter } from "./filters";

const modality: Facet = {
  key: "modality",
  title: "Modality",
  ordered: false,
  values: [
    { key: "ct", name: "CT", count: 3 },
    { key: "mri", name: "MRI", count: 2 },
  ],
  of: [[0], [0, 1], [1], [0]],
};
const pictures: Facet = {
  key: "pictures",
  title: "Pictures",
  ordered: true,
  values: [
    { key: "1", name: "1 picture", count: 2 },
    { key: "2", name: "2 pictures", count: 2 },
  ],
  of: [[0], [0], [1], [1]],
};
const facets = [modality, pictures];
const all = () => true;

describe("sifting", () => {
  it("leaves everything where nothing is chosen", () => {
    const { kept, counts } = filterCases(4, facets, new Map(), all);
    expect(kept).toEqual([0, 1, 2, 3]);
    expect(counts.get("modality")).toEqual([3, 2]);
  });
  it("takes any value of one facet and needs all facets", () => {
    const both = new Map([["modality", new Set(["ct", "mri"])], ["pictures", new Set(["2"])]]);
    expect(filterCases(4, facets, both, all).kept).toEqual([2, 3]);
  });
  it("does not lower a facet's counts by its own choice", () => {
    const { kept, counts } = filterCases(4, facets, new Map([["modality", new Set(["mri"])]]), all);
    expect(kept).toEqual([1, 2]);
    expect(counts.get("modality")).toEqual([3, 2]);
    expect(counts.get("pictures")).toEqual([1, 1]);
  });
  it("passes over cases that the search does not find", () => {
    const { kept, counts } = filterCases(4, facets, new Map(), (at) => at > 1);
    expect(kept).toEqual([2, 3]);
    expect(counts.get("modality")).toEqual([1, 1]);
  });
});

describe("the search", () => {
  it("needs every word, wherever it stands", () => {
    const passes = makeSearch(["case1\nfever", "case2\nfever", "case3"], { words: ["fever", "late"], cases: [[2], [0, 2]] });
    expect([0, 1, 2].filter(passes)).toEqual([0, 2]);
  });
  it("finds everything without words", () => {
    expect(makeSearch(["a"], null)(0)).toBe(true);
  });
});

describe("the address", () => {
  it("keeps what is chosen and forgets what no facet has", () => {
    const query = new URLSearchParams("modality=ct&modality=xx&q=a&sort=id");
    expect([...chosenFilters(query, facets)]).toEqual([["modality", new Set(["ct"])]]);
  });
  it("takes a value in and out again", () => {
    const once = toggleFilter(new URLSearchParams("q=a"), "modality", "ct");
    expect(once.toString()).toBe("q=a&modality=ct");
    expect(toggleFilter(once, "modality", "mri").getAll("modality")).toEqual(["ct", "mri"]);
    expect(toggleFilter(once, "modality", "ct").toString()).toBe("q=a");
  });
});

describe("the order", () => {
  const table = { ids: ["c10", "c9", "c1"], pictures: [1, 3, 3], volumes: [0, 0, 0], texts: ["", "", ""], facets: [], unread: 0 };
  it("reads numbers in ids as numbers", () => {
    expect(sortCases([0, 1, 2], "id", table, null)).toEqual([2, 1, 0]);
  });
  it("puts most pictures first and keeps the rest as stored", () => {
    expect(sortCases([0, 1, 2], "pictures", table, null)).toEqual([1, 2, 0]);
  });
  it("has no titles to go by unless they are shown", () => {
    expect(sortCases([0, 1, 2], "title", table, null)).toEqual([0, 1, 2]);
    expect(sortCases([0, 1, 2], "title", table, ["b", "a", "c"])).toEqual([1, 0, 2]);
  });
});

it("names a case's values", () => {
  expect(namesOf(1, facets, ["pictures", "modality", "none"])).toEqual(["1 picture", "CT", "MRI"]);
});
