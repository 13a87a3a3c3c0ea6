// Some cameras store a picture on its side and say so. It is shown upright, while its boxes are
// given in the picture as it is stored: here they are turned to what is seen, and back.
import type { Size } from "../kit/useSize";
import type { Rect } from "./viewport";

/** 1 to 8 as Exif counts them; 1 is upright as stored. */
type Turn = number;

export function uprightSize(size: Size, turn: Turn): Size {
  return turn >= 5 ? { width: size.height, height: size.width } : size;
}

/** A box of the stored picture (of that size) in the upright one. */
export function toUpright(box: Rect, stored: Size, turn: Turn): Rect {
  if (turn <= 1) return box;
  const seen = uprightSize(stored, turn);
  let x = turn >= 5 ? [box.y1, box.y2] : [box.x1, box.x2];
  let y = turn >= 5 ? [box.x1, box.x2] : [box.y1, box.y2];
  if ([3, 4, 7, 8].includes(turn)) y = y.map((value) => seen.height - value);
  if ([2, 3, 6, 7].includes(turn)) x = x.map((value) => seen.width - value);
  return { x1: Math.min(...x), y1: Math.min(...y), x2: Math.max(...x), y2: Math.max(...y) };
}

/** The way back. */
export function toStored(box: Rect, stored: Size, turn: Turn): Rect {
  if (turn <= 1) return box;
  // Quarter turns undo each other; every other turn undoes itself.
  const back = turn === 6 ? 8 : turn === 8 ? 6 : turn;
  return toUpright(box, uprightSize(stored, turn), back);
}
