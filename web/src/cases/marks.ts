// Boxes over the pictures of a case: a person's own, and those of the truth once it is shown.
import type { Schemas } from "../api/client";
import type { StageBox } from "../stage/Stage";
import type { Rect } from "../stage/viewport";
import type { Draft, OwnPlace } from "./draft";

export type CaseTruth = Schemas["CaseTruth"];
export type TruePlace = Schemas["TruePlace"];

/** "own:2:0" is the first place of a person's third finding. */
interface Mark {
  finding: number;
  place: number;
}

/** The place of a person's own that a box stands for; null for any other box. */
export function markOf(id: string): Mark | null {
  const [whose, finding, place] = id.split(":");
  return whose === "own" ? { finding: Number(finding), place: Number(place) } : null;
}

export function ownBoxes(draft: Draft, picture: string, chosen: string | null): StageBox[] {
  return draft.findings.flatMap((finding, f) =>
    finding.places.flatMap((place, p) => {
      const id = `own:${f}:${p}`;
      const box = boxOf(place);
      const label = finding.text.trim() || `my finding ${f + 1}`;
      return box && place.picture === picture ? [{ id, ...box, label, kind: "reader" as const, chosen: id === chosen }] : [];
    }),
  );
}

/** What of the truth is pointed at: a finding or a step, with its places. */
export interface PointedAt {
  key: string;
  text: string;
  places: TruePlace[];
}

/** All boxes of the truth's findings, or only those of what is pointed at. */
export function trueBoxes(truth: CaseTruth | null, picture: string, lit: PointedAt | null): StageBox[] {
  const all = (truth?.findings ?? []).map((finding, f) => ({ key: `finding-${f}`, text: finding.text, places: finding.places }));
  return (lit ? [lit] : all).flatMap((one) =>
    one.places.flatMap((place, p) => {
      const box = boxOf(place);
      if (!box || place.picture !== picture) return [];
      return [{ id: `truth:${one.key}:${p}`, ...box, label: place.label ?? one.text, kind: "truth" as const, chosen: lit !== null }];
    }),
  );
}

export function boxOf(place: OwnPlace | TruePlace): Rect | null {
  const { kind, x1, y1, x2, y2 } = place;
  if (kind !== "box" || x1 == null || y1 == null || x2 == null || y2 == null) return null;
  return { x1, y1, x2, y2 };
}

/**
 * A box added to the finding that is being written, or to a new one. Where a case has several
 * pictures (`several`), a new finding is said of the picture too: such findings are scored by it.
 */
export function withBox(draft: Draft, at: number | null, picture: string, box: Rect, several = false): { draft: Draft; at: number } {
  const place: OwnPlace = { ...NOWHERE, kind: "box", picture, ...box };
  const findings = [...draft.findings];
  const own = at === null ? undefined : findings[at];
  if (own && at !== null) {
    findings[at] = { ...own, places: [...own.places, place] };
    return { draft: { ...draft, findings }, at };
  }
  findings.push({ text: "", query: null, places: several ? [wholePlace(picture), place] : [place] });
  return { draft: { ...draft, findings }, at: findings.length - 1 };
}

export function withMovedBox(draft: Draft, mark: Mark, box: Rect): Draft {
  const findings = draft.findings.map((finding, f) =>
    f !== mark.finding ? finding : { ...finding, places: finding.places.map((place, p) => (p === mark.place ? { ...place, ...box } : place)) },
  );
  return { ...draft, findings };
}

const NOWHERE = { x1: 0, y1: 0, x2: 0, y2: 0, axis: "axial" as const, first: 0, last: 0 };

/** Slices of a volume as a place. */
export function slicesPlace(picture: string, first: number, last: number): OwnPlace {
  return { ...NOWHERE, kind: "slices", picture, first, last };
}

/** All of a picture as a place. */
export function wholePlace(picture: string): OwnPlace {
  return { ...NOWHERE, kind: "whole", picture };
}
