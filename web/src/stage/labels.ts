// Where the labels of boxes go: readable at any zoom, inside the view, not over each other.
import type { Size } from "../kit/useSize";
import type { Rect } from "./viewport";

export const LABEL_HEIGHT = 18;
const LETTER = 6.6;
const LONGEST = 44;

export interface PlacedLabel {
  text: string;
  x: number;
  y: number;
  width: number;
}

function shortenLabel(text: string): string {
  const plain = text.replace(/\s+/g, " ").trim();
  return plain.length > LONGEST ? `${plain.slice(0, LONGEST - 1)}…` : plain;
}

/** One place for each label, in order; boxes are given as they lie on the screen. */
export function placeLabels(boxes: { box: Rect; label?: string | undefined }[], room: Size): (PlacedLabel | null)[] {
  const taken: Rect[] = [];
  return boxes.map(({ box, label }) => {
    const outside = box.x2 < 0 || box.y2 < 0 || box.x1 > room.width || box.y1 > room.height;
    if (!label || outside) return null;
    const text = shortenLabel(label);
    const width = Math.min(room.width, text.length * LETTER + 10);
    const x = Math.max(0, Math.min(box.x1, room.width - width));
    const top = Math.max(0, Math.min(box.y1 - LABEL_HEIGHT - 2, room.height - LABEL_HEIGHT));
    // Above the box, inside it, below it, and then wherever is room further down.
    const tries = [top, box.y1 + 2, box.y2 + 2];
    for (let step = 1; step <= 12; step++) tries.push(top + step * LABEL_HEIGHT);
    const free = (y: number) =>
      y >= 0 &&
      y + LABEL_HEIGHT <= room.height &&
      !taken.some((one) => x < one.x2 && x + width > one.x1 && y < one.y2 && y + LABEL_HEIGHT > one.y1);
    const y = tries.find(free) ?? top;
    taken.push({ x1: x, y1: y, x2: x + width, y2: y + LABEL_HEIGHT });
    return { text, x, y, width };
  });
}
