// A verdict that is not given yet, and the corrected data that go with it, as the terminal writes them.
import type { Rect } from "../stage/viewport";
import type { OwnVerdict } from "./types";

export interface DraftBox extends Rect {
  id: string;
  /** The shown box that it replaces, where there are several. */
  of?: string;
}

export interface Draft {
  verdict: string | null;
  reasons: string[];
  note: string;
  boxes: DraftBox[];
  /** Slices that are marked: from the first to the last one. */
  first: number | null;
  last: number | null;
  /** Corrected data of other names, which only came along. */
  rest: Record<string, unknown>;
}

export const EMPTY: Draft = { verdict: null, reasons: [], note: "", boxes: [], first: null, last: null, rest: {} };

export function toggleReason(reasons: string[], code: string): string[] {
  return reasons.includes(code) ? reasons.filter((own) => own !== code) : [...reasons, code];
}

/** The numbers of the marked slices; one mark alone marks one slice. */
export function markedSlices(draft: Draft): number[] {
  const ends = [draft.first, draft.last].filter((end) => end !== null);
  if (!ends.length) return [];
  const low = Math.min(...ends);
  return Array.from({ length: Math.max(...ends) - low + 1 }, (_, at) => low + at);
}

/** What is right instead: `box` or `boxes`, `slices`; null where nothing was corrected. */
export function correctedData(draft: Draft): Record<string, unknown> | null {
  const made: Record<string, unknown> = { ...draft.rest };
  const corners = draft.boxes.map((box) => [box.x1, box.y1, box.x2, box.y2].map(Math.round));
  if (corners.length === 1) made.box = corners[0];
  else if (corners.length) made.boxes = corners;
  const of = draft.boxes.map((box) => box.of ?? "");
  if (of.some(Boolean)) made.of = of.length === 1 ? of[0] : of;
  const slices = markedSlices(draft);
  if (slices.length) made.slices = slices;
  return Object.keys(made).length ? made : null;
}

/** A verdict that was undone, as a draft to be changed and submitted once more. */
export function draftOf(given: OwnVerdict): Draft {
  const { box, boxes, slices, of, ...rest } = (given.corrected ?? {}) as Record<string, unknown>;
  const corners = [...(isCorners(box) ? [box] : []), ...(Array.isArray(boxes) ? boxes.filter(isCorners) : [])];
  const names = Array.isArray(of) ? of : [of];
  const numbers = Array.isArray(slices) ? slices.filter((slice) => typeof slice === "number") : [];
  const gaps = numbers.some((slice, at) => at > 0 && slice !== (numbers[at - 1] ?? 0) + 1);
  if (gaps) return { ...draftOf({ ...given, corrected: { ...given.corrected, slices: null } }), rest: { ...rest, slices } };
  return {
    verdict: given.verdict,
    reasons: [...given.reasons],
    note: given.note,
    boxes: corners.map(([x1, y1, x2, y2], at) => {
      const made: DraftBox = { id: `draft-${at + 1}`, x1, y1, x2, y2 };
      const name: unknown = names[at];
      return typeof name === "string" && name ? { ...made, of: name } : made;
    }),
    first: numbers.length ? Math.min(...numbers) : null,
    last: numbers.length ? Math.max(...numbers) : null,
    rest,
  };
}

function isCorners(value: unknown): value is [number, number, number, number] {
  return Array.isArray(value) && value.length === 4 && value.every((edge) => typeof edge === "number");
}

/** An id that no other box of the draft has. */
export function freshId(boxes: DraftBox[]): string {
  const taken = new Set(boxes.map((box) => box.id));
  let number = boxes.length + 1;
  while (taken.has(`draft-${number}`)) number += 1;
  return `draft-${number}`;
}

/** Where a new box begins: the middle of the picture. */
export function middleBox(width: number, height: number): Rect {
  return {
    x1: Math.round(width * 0.375),
    y1: Math.round(height * 0.375),
    x2: Math.max(Math.round(width * 0.375) + 1, Math.round(width * 0.625)),
    y2: Math.max(Math.round(height * 0.375) + 1, Math.round(height * 0.625)),
  };
}

/** A box inside its picture, at least a pixel large, whatever was typed. */
export function fitBox(box: Rect, width: number, height: number): Rect {
  const within = (value: number, low: number, high: number) => Math.min(high, Math.max(low, Math.round(value) || 0));
  const x1 = within(box.x1, 0, width - 1);
  const y1 = within(box.y1, 0, height - 1);
  return { x1, y1, x2: within(box.x2, x1 + 1, width), y2: within(box.y2, y1 + 1, height) };
}
