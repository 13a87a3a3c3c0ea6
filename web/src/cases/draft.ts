// What a person makes of a case, while it is being written: kept in the browser until it is saved.
import type { Schemas } from "../api/client";

type OwnReading = Schemas["OwnReading"];
export type OwnPlace = Schemas["OwnPlace"];

export interface Draft {
  choice: string;
  /** Per cent; null where it was not said. */
  sure: number | null;
  findings: DraftFinding[];
  report: string;
  discussion: string;
}

export interface DraftFinding {
  text: string;
  query: string | null;
  places: OwnPlace[];
}

export const EMPTY: Draft = { choice: "", sure: null, findings: [], report: "", discussion: "" };

export function isEmpty(draft: Draft): boolean {
  const said = draft.choice + draft.report + draft.discussion;
  return !said.trim() && !draft.findings.some((one) => one.text.trim() || one.places.length);
}

/** As the server takes it. */
export function asReading(draft: Draft, name: string, sawTruth: boolean): OwnReading {
  return {
    name,
    choice: draft.choice.trim() || null,
    confidence: draft.sure === null ? null : draft.sure / 100,
    rationale: null,
    findings: draft.findings.filter((one) => one.text.trim() || one.places.length),
    report: draft.report.trim() || null,
    discussion: draft.discussion.trim() || null,
    saw_truth: sawTruth,
  };
}

export function asDraft(own: OwnReading): Draft {
  return {
    choice: own.choice ?? "",
    sure: own.confidence === null || own.confidence === undefined ? null : Math.round(own.confidence * 100),
    findings: (own.findings ?? []).map((one) => ({ text: one.text, query: one.query ?? null, places: one.places ?? [] })),
    report: own.report ?? "",
    discussion: own.discussion ?? "",
  };
}

const key = (parts: string[]) => `overread.draft.${parts.map(encodeURIComponent).join("/")}`;

/** What was being written of this case, whatever else may lie under its name. */
export function loadDraft(parts: string[]): Draft | null {
  try {
    return parseDraft(JSON.parse(localStorage.getItem(key(parts)) ?? "null"));
  } catch {
    return null;
  }
}

export function saveDraft(parts: string[], draft: Draft | null): void {
  try {
    if (draft === null || isEmpty(draft)) localStorage.removeItem(key(parts));
    else localStorage.setItem(key(parts), JSON.stringify(draft));
  } catch {
    // A browser that keeps nothing, or is full: the page goes on without.
  }
}

/** Whether the truth of this case was shown in this browser before. */
export function loadSawTruth(parts: string[]): boolean {
  try {
    return localStorage.getItem(`overread.saw.${parts.join("/")}`) !== null;
  } catch {
    return false;
  }
}

export function saveSawTruth(parts: string[]): void {
  try {
    localStorage.setItem(`overread.saw.${parts.join("/")}`, "1");
  } catch {
    // as above
  }
}

export function loadName(): string {
  try {
    return localStorage.getItem("overread.name") ?? "";
  } catch {
    return "";
  }
}

export function saveName(name: string): void {
  try {
    localStorage.setItem("overread.name", name);
  } catch {
    // as above
  }
}

function parseDraft(raw: unknown): Draft | null {
  if (typeof raw !== "object" || raw === null) return null;
  const given = raw as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const findings = Array.isArray(given.findings) ? given.findings : [];
  return {
    choice: text(given.choice),
    sure: typeof given.sure === "number" && given.sure >= 0 && given.sure <= 100 ? given.sure : null,
    findings: findings.map(finding).filter((one) => one !== null),
    report: text(given.report),
    discussion: text(given.discussion),
  };
}

function finding(raw: unknown): DraftFinding | null {
  if (typeof raw !== "object" || raw === null) return null;
  const given = raw as Record<string, unknown>;
  const places = (Array.isArray(given.places) ? given.places : []).filter(isPlace);
  const query = typeof given.query === "string" ? given.query : null;
  return { text: typeof given.text === "string" ? given.text : "", query, places };
}

function isPlace(raw: unknown): raw is OwnPlace {
  if (typeof raw !== "object" || raw === null) return false;
  const { kind, picture, ...rest } = raw as Record<string, unknown>;
  if (typeof picture !== "string" || !["box", "slices", "whole"].includes(String(kind))) return false;
  const numbers = kind === "box" ? [rest.x1, rest.y1, rest.x2, rest.y2] : kind === "slices" ? [rest.first, rest.last] : [];
  return numbers.every((one) => Number.isFinite(one));
}
