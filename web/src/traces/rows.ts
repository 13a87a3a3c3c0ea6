// What the view of a reading shows in which order: rows, words with cut-outs between, boxes.
import { apiUrl, type Schemas } from "../api/client";
import type { StageBox } from "../stage/Stage";

export type TracedReading = Schemas["TracedReading"];
export type TraceRegion = Schemas["TraceRegion"];
export type Reference = Schemas["Reference"];
export type Judgement = Schemas["Judgement"];
export type Verdict = Schemas["JudgedSentence"];
type Kind = Schemas["TraceStep"]["kind"];
type Of = "steps" | "findings";

/** One numbered row of a trace: a step, or a finding where there are no steps. */
export interface Row {
  of: Of;
  index: number;
  number: number;
  kind: Kind | "finding";
  text: string;
  regions: TraceRegion[];
  exchange: number | null;
  /** How near its finding the step is, where it is a link of an anatomical chain of thought. */
  level: string | null;
}

interface Traced {
  steps: Schemas["TraceStep"][];
  findings: Schemas["TraceFinding"][];
}

/** The steps; where a reader tells none, its findings. */
export function rowsOf(reading: Traced): Row[] {
  if (reading.steps.length)
    return reading.steps.map((step, at) => ({
      of: "steps" as const,
      index: step.index,
      number: at + 1,
      kind: step.kind,
      text: step.text,
      regions: step.regions,
      exchange: step.exchange,
      level: step.level === null ? null : `finding ${step.query}: ${step.level}`,
    }));
  return reading.findings.map((finding, at) => ({
    of: "findings" as const,
    index: finding.index,
    number: at + 1,
    kind: "finding" as const,
    text: finding.text,
    regions: finding.regions,
    exchange: null,
    level: null,
  }));
}

/** The rows of the reference; findings where the release has no trace. */
export function referenceRowsOf(reference: Reference): Row[] {
  const rows = rowsOf(reference);
  return reference.is_trace ? rows : rows.map((row) => ({ ...row, kind: "finding" as const }));
}

type Piece = { words: string } | { place: number };

/** Words with a place wherever `<image>` stands; marks without a place are left out. */
export function splitAtImages(text: string, places: number): Piece[] {
  const found: Piece[] = [];
  text.split("<image>").forEach((words, at) => {
    if (at > 0 && at <= places) found.push({ place: at - 1 });
    if (words.trim()) found.push({ words: words.trim() });
  });
  return found;
}

/** Places whose cut-outs stand beside a row: not those in its words, nor those that the row before it shows, nor pictures it only mentions. */
export function placesBeside(row: Row, before?: Row): number[] {
  const within = row.text.split("<image>").length - 1;
  const known = new Set((before?.regions ?? []).map(samePlace));
  return row.regions
    .map((region, place) => ({ region, place }))
    .filter(({ region, place }) => place >= within && region.drawable && !known.has(samePlace(region)))
    .filter(({ region }) => region.kind !== "whole" || row.kind === "look" || row.regions.length === 1)
    .map(({ place }) => place);
}

function samePlace(region: TraceRegion): string {
  return JSON.stringify([region.kind, region.picture, region.box, region.axis, region.first, region.last, region.channel, region.entity]);
}

export interface MarkedRow {
  row: Row;
  truth: boolean;
  chosen: boolean;
}

/** The boxes on one picture; of two at the same place the chosen one is drawn, and those of the reading before the truth's. */
export function boxesOn(picture: string, marked: MarkedRow[]): StageBox[] {
  const found = new Map<string, StageBox>();
  for (const { row, truth, chosen } of marked)
    row.regions.forEach((region, place) => {
      if (region.picture !== picture || !region.box || !region.drawable) return;
      const [x1, y1, x2, y2] = region.box as [number, number, number, number];
      const at = `${truth ? "truth" : "reader"} ${x1} ${y1} ${x2} ${y2}`;
      if (found.has(at) && !chosen) return;
      found.set(at, {
        id: `${truth ? "truth" : "reader"}-${row.number}-${place}`,
        x1,
        y1,
        x2,
        y2,
        kind: truth ? "truth" : chosen ? "reader" : "plain",
        chosen,
        ...(chosen && region.label ? { label: region.label } : {}),
      });
    });
  // What is chosen is drawn last, over the others.
  return [...found.values()].sort((a, b) => Number(a.chosen ?? false) - Number(b.chosen ?? false));
}

/** The row of a box on the stage. */
export function rowOfBox(id: string): { truth: boolean; number: number } | null {
  const found = /^(truth|reader)-(\d+)-\d+$/.exec(id);
  return found ? { truth: found[1] === "truth", number: Number(found[2]) } : null;
}

/** Address of a look of the reading, or of the reference. */
export function regionPictureUrl(reading: TracedReading, row: Row, place: number, how: { part: "whole" | "cut"; truth?: boolean; window?: string; against?: Row | undefined }): string {
  const parts = ["runs", reading.run, "cases", reading.case, ...(how.truth ? ["reference"] : []), row.of, String(row.index), "look", String(place)];
  return apiUrl(parts, { part: how.part, sample: reading.sample || undefined, window: how.window, against: how.against?.of === "steps" ? how.against.index : undefined });
}

/** What is said of one row by a judge: how many sentences in it hold, and which do not. */
export function verdictsOfRow(row: Row, judgement: Judgement | undefined): { hold: number; wrong: Verdict[] } | null {
  if (!judgement || row.of !== "steps") return null;
  const own = judgement.verdicts.filter((one) => one.step === row.index);
  if (!own.length) return null;
  return { hold: own.filter((one) => one.holds).length, wrong: own.filter((one) => !one.holds) };
}

/** Which reference rows correspond to which rows of the reading, both ways. */
export interface Pairs {
  ofReading: Map<number, { number: number; why: string; overlap: number | null } | null>;
  ofReference: Map<number, number[]>;
}

export function pairsOf(rows: Row[], reference: Reference | null, referenceRows: Row[]): Pairs {
  const ofReading: Pairs["ofReading"] = new Map();
  const ofReference: Pairs["ofReference"] = new Map();
  for (const pair of reference?.counterparts ?? []) {
    const mine = rows.find((row) => row.of === "steps" && row.index === pair.step);
    if (!mine) continue;
    const theirs = pair.reference === null ? undefined : referenceRows.find((row) => row.index === pair.reference);
    ofReading.set(mine.number, theirs ? { number: theirs.number, why: pair.why, overlap: pair.overlap } : null);
    if (theirs) ofReference.set(theirs.number, [...(ofReference.get(theirs.number) ?? []), mine.number]);
  }
  return { ofReading, ofReference };
}

/** Kinds of steps as people say them, with a sign that needs no font of symbols. */
export const KINDS: Record<Row["kind"], { sign: string; word: string }> = {
  say: { sign: "“", word: "says" },
  look: { sign: "◎", word: "looks" },
  ask: { sign: "?", word: "asks" },
  conclude: { sign: "∴", word: "concludes" },
  finding: { sign: "•", word: "finds" },
};
