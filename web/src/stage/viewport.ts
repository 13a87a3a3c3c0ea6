// What part of a picture is seen, and where on the screen it lies. Pure numbers, no page.
import type { Size } from "../kit/useSize";

export interface Rect {
  x1: number;
  y1: number;
  x2: number;
  y2: number;
}

/** How a picture is looked at, whatever the size of its room: 1 fits, the centre is a fraction. */
export interface Viewport {
  zoom: number;
  cx: number;
  cy: number;
}

/** Where the picture's corner lies on the screen, and how large a pixel of it is there. */
export interface Frame {
  scale: number;
  x: number;
  y: number;
}

export const WHOLE_PICTURE: Viewport = { zoom: 1, cx: 0.5, cy: 0.5 };
const LARGEST_PIXEL = 32;

function fitting(room: Size, picture: Size): number {
  const scale = Math.min(room.width / picture.width, room.height / picture.height);
  return Number.isFinite(scale) && scale > 0 ? scale : 1;
}

export function frameOf(viewport: Viewport, room: Size, picture: Size): Frame {
  const scale = viewport.zoom * fitting(room, picture);
  return {
    scale,
    x: room.width / 2 - viewport.cx * picture.width * scale,
    y: room.height / 2 - viewport.cy * picture.height * scale,
  };
}

/** The same sight, no larger than is of use, and never past the picture's edge. */
export function clampViewport(viewport: Viewport, room: Size, picture: Size): Viewport {
  const fit = fitting(room, picture);
  const least = Math.min(1, 1 / fit);
  const most = Math.max(1, LARGEST_PIXEL / fit);
  const zoom = Math.min(most, Math.max(least, viewport.zoom));
  const within = (centre: number, own: number, side: number) => {
    const half = own / (2 * side * fit * zoom);
    return half >= 0.5 ? 0.5 : Math.min(1 - half, Math.max(half, centre));
  };
  return { zoom, cx: within(viewport.cx, room.width, picture.width), cy: within(viewport.cy, room.height, picture.height) };
}

/** Nearer or farther; what lies under the point stays there. */
export function zoomAt(viewport: Viewport, room: Size, picture: Size, at: { x: number; y: number }, factor: number): Viewport {
  const before = frameOf(viewport, room, picture);
  const zoom = clampViewport({ ...viewport, zoom: viewport.zoom * factor }, room, picture).zoom;
  const scale = zoom * fitting(room, picture);
  const held = { x: (at.x - before.x) / before.scale, y: (at.y - before.y) / before.scale };
  const cx = (held.x + (room.width / 2 - at.x) / scale) / picture.width;
  const cy = (held.y + (room.height / 2 - at.y) / scale) / picture.height;
  return clampViewport({ zoom, cx, cy }, room, picture);
}

/** Moved by so many points of the screen. */
export function panBy(viewport: Viewport, room: Size, picture: Size, dx: number, dy: number): Viewport {
  const { scale } = frameOf(viewport, room, picture);
  const cx = viewport.cx - dx / (picture.width * scale);
  const cy = viewport.cy - dy / (picture.height * scale);
  return clampViewport({ ...viewport, cx, cy }, room, picture);
}

/** One pixel of the picture is one of the screen. */
export function actualSize(viewport: Viewport, room: Size, picture: Size, density: number): Viewport {
  return clampViewport({ ...viewport, zoom: 1 / (density * fitting(room, picture)) }, room, picture);
}

/** A part of the picture with some of what is around it. */
export function focusOn(part: Rect, room: Size, picture: Size): Viewport {
  const wide = Math.max(8, (part.x2 - part.x1) * 1.5);
  const high = Math.max(8, (part.y2 - part.y1) * 1.5);
  const zoom = fitting(room, { width: wide, height: high }) / fitting(room, picture);
  const cx = (part.x1 + part.x2) / 2 / picture.width;
  const cy = (part.y1 + part.y2) / 2 / picture.height;
  return clampViewport({ zoom: Math.max(1, zoom), cx, cy }, room, picture);
}

export function onScreen(box: Rect, frame: Frame): Rect {
  return {
    x1: frame.x + box.x1 * frame.scale,
    y1: frame.y + box.y1 * frame.scale,
    x2: frame.x + box.x2 * frame.scale,
    y2: frame.y + box.y2 * frame.scale,
  };
}

export function inPicture(at: { x: number; y: number }, frame: Frame): { x: number; y: number } {
  return { x: (at.x - frame.x) / frame.scale, y: (at.y - frame.y) / frame.scale };
}
