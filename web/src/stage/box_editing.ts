// Boxes that are drawn, moved and resized: by the pointer and by keys, always inside the picture.
import type { Size } from "../kit/useSize";
import type { Rect } from "./viewport";

export type Handle = "move" | "n" | "ne" | "e" | "se" | "s" | "sw" | "w" | "nw";
export const HANDLES: Handle[] = ["n", "ne", "e", "se", "s", "sw", "w", "nw"];

const within = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

/** A box from two corners, in whole pixels of the picture. */
export function boxBetween(a: { x: number; y: number }, b: { x: number; y: number }, picture: Size): Rect {
  const x = [a.x, b.x].map((value) => within(Math.round(value), 0, picture.width));
  const y = [a.y, b.y].map((value) => within(Math.round(value), 0, picture.height));
  return { x1: Math.min(...x), y1: Math.min(...y), x2: Math.max(...x), y2: Math.max(...y) };
}

/** The box after one of its handles, or all of it, was moved; at least one pixel is left. */
export function dragBox(box: Rect, handle: Handle, dx: number, dy: number, picture: Size): Rect {
  const { x1, y1, x2, y2 } = box;
  if (handle === "move") {
    const mx = Math.round(within(dx, -x1, picture.width - x2));
    const my = Math.round(within(dy, -y1, picture.height - y2));
    return { x1: x1 + mx, y1: y1 + my, x2: x2 + mx, y2: y2 + my };
  }
  const made = { x1, y1, x2, y2 };
  if (handle.includes("w")) made.x1 = within(Math.round(x1 + dx), 0, x2 - 1);
  if (handle.includes("e")) made.x2 = within(Math.round(x2 + dx), x1 + 1, picture.width);
  if (handle.includes("n")) made.y1 = within(Math.round(y1 + dy), 0, y2 - 1);
  if (handle.includes("s")) made.y2 = within(Math.round(y2 + dy), y1 + 1, picture.height);
  return made;
}

const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function arrow(key: string): [number, number] | undefined {
  return ARROWS[key];
}

/** What an arrow key makes of a box: moved, or resized at its lower right corner with Shift. */
export function nudgeBox(box: Rect, key: string, shift: boolean, step: number, picture: Size): Rect | null {
  const way = ARROWS[key];
  return way ? dragBox(box, shift ? "se" : "move", way[0] * step, way[1] * step, picture) : null;
}

/** Where a box begins that is drawn by keys: the middle of what is seen. */
export function initialBox(seen: Rect): Rect {
  const wide = (seen.x2 - seen.x1) / 8;
  const high = (seen.y2 - seen.y1) / 8;
  const x = (seen.x1 + seen.x2) / 2;
  const y = (seen.y1 + seen.y2) / 2;
  return {
    x1: Math.round(x - wide),
    y1: Math.round(y - high),
    x2: Math.max(Math.round(x - wide) + 1, Math.round(x + wide)),
    y2: Math.max(Math.round(y - high) + 1, Math.round(y + high)),
  };
}
