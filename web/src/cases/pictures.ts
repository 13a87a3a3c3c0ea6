// Addresses of pictures.
import { apiUrl } from "../api/client";
import type { Rect } from "../stage/viewport";

/** A picture of a case, or the part of it in a box (with `margin` of the box's size around it). */
export function pictureUrl(dataset: string, split: string, caseId: string, name: string, box?: Rect, margin?: number): string {
  const part = box ? [box.x1, box.y1, box.x2, box.y2].join(",") : undefined;
  return apiUrl(["pictures", dataset, split, caseId, name], { box: part, margin });
}

/** The greys of a picture of more than 8 bits. */
export function valuesUrl(dataset: string, split: string, caseId: string, name: string): string {
  return apiUrl(["pictures", dataset, split, caseId, name, "values"]);
}
