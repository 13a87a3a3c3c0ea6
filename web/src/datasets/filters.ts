// Which cases are shown: words searched for, facets chosen, and the order they come in.
import type { Schemas } from "../api/client";

export type SplitTable = Schemas["SplitTable"];
export type LabelTable = Schemas["LabelTable"];
export type Facet = Schemas["Facet"];
export type SearchHits = Schemas["SearchHits"];

export type Order = "stored" | "id" | "pictures" | "title";
/** Facet → the values that were chosen; a case needs one of them in each facet. */
export type ChosenFilters = Map<string, Set<string>>;

interface FilterResult {
  /** Places of the cases that are left, in the table's order. */
  kept: number[];
  /** Facet → how many cases each of its values would leave. */
  counts: Map<string, number[]>;
}

/** Names in the address that no facet may take. */
export const RESERVED_NAMES = new Set(["q", "sort", "labels"]);

export function chosenFilters(query: URLSearchParams, facets: Facet[]): ChosenFilters {
  const chosen: ChosenFilters = new Map();
  for (const facet of facets) {
    if (RESERVED_NAMES.has(facet.key)) continue;
    const known = new Set(facet.values.map((value) => value.key));
    const values = query.getAll(facet.key).filter((key) => known.has(key));
    if (values.length) chosen.set(facet.key, new Set(values));
  }
  return chosen;
}

/** The query with one value of a facet chosen, or no longer. */
export function toggleFilter(query: URLSearchParams, facet: string, value: string): URLSearchParams {
  const next = new URLSearchParams(query);
  const before = next.getAll(facet);
  next.delete(facet);
  for (const key of before) if (key !== value) next.append(facet, key);
  if (!before.includes(value)) next.append(facet, value);
  return next;
}

/**
 * Cases that pass, and the counts of all facets. A facet's own choice does not lower its own
 * counts: they tell what another choice would give.
 */
export function filterCases(count: number, facets: Facet[], chosen: ChosenFilters, passes: (at: number) => boolean): FilterResult {
  const allowed = facets.map((facet) => {
    const values = chosen.get(facet.key);
    return values ? facet.values.map((value) => values.has(value.key)) : null;
  });
  const counts = facets.map((facet) => new Array<number>(facet.values.length).fill(0));
  const kept: number[] = [];
  const add = (which: number, at: number) => {
    const own = counts[which];
    if (own) for (const value of facets[which]?.of[at] ?? []) own[value] = (own[value] ?? 0) + 1;
  };
  for (let at = 0; at < count; at++) {
    if (!passes(at)) continue;
    let failed = 0;
    let last = -1;
    for (let which = 0; which < facets.length && failed < 2; which++) {
      const good = allowed[which];
      if (good && !facets[which]?.of[at]?.some((value) => good[value])) {
        failed++;
        last = which;
      }
    }
    if (failed === 0) {
      kept.push(at);
      for (let which = 0; which < facets.length; which++) add(which, at);
    } else if (failed === 1) add(last, at);
  }
  return { kept, counts: new Map(facets.map((facet, which) => [facet.key, counts[which] ?? []])) };
}

/** Whether a case has every word: in what the page holds of it, or in the text that the server searched. */
export function makeSearch(local: string[], hits: SearchHits | null): (at: number) => boolean {
  if (!hits?.words.length) return () => true;
  const words = hits.words.map((word, which) => ({ word, cases: new Set(hits.cases[which] ?? []) }));
  return (at) => words.every(({ word, cases }) => cases.has(at) || (local[at]?.includes(word) ?? false));
}

const NATURAL = new Intl.Collator("en", { numeric: true });

export function sortCases(kept: number[], order: Order, table: SplitTable, titles: string[] | null): number[] {
  if (order === "stored" || (order === "title" && !titles)) return kept;
  const text = (at: number) => (order === "title" ? (titles?.[at] ?? "") : (table.ids[at] ?? ""));
  const by =
    order === "pictures"
      ? (a: number, b: number) => (table.pictures[b] ?? 0) - (table.pictures[a] ?? 0) || a - b
      : (a: number, b: number) => NATURAL.compare(text(a), text(b)) || a - b;
  return [...kept].sort(by);
}

/** The names of a case's values in some facets, for its card. */
export function namesOf(at: number, facets: Facet[], keys: string[]): string[] {
  const names: string[] = [];
  for (const key of keys) {
    const facet = facets.find((one) => one.key === key);
    for (const value of facet?.of[at] ?? []) {
      const found = facet?.values[value];
      if (found && found.key !== "-") names.push(found.name);
    }
  }
  return names;
}
