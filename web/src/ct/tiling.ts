// Where each plane stands on the film when several are shown at once.
import type { Plane } from "./space";

/** Left, top, width and height as shares of the film. */
export type Tile = [number, number, number, number];

/** The axial plane large, the others beside it; after them, where it is shown, the 3D view. */
export function tilesOf(with3d: boolean): Tile[] {
  const height = with3d ? 1 / 3 : 1 / 2;
  const beside = Array.from({ length: with3d ? 3 : 2 }, (_, n): Tile => [0.63, n * height, 0.37, height]);
  return [[0, 0, 0.62, 1], ...beside];
}

/** The tile of each plane of a layout; a plane by itself has the whole film. */
export function tileOf(layout: string, planes: readonly Plane[]): { plane: Plane; tile: Tile }[] {
  const tiles: Tile[] = planes.length === 1 ? [[0, 0, 1, 1]] : tilesOf(layout === "all");
  return planes.map((plane, n) => ({ plane, tile: tiles[n] ?? [0, 0, 1, 1] }));
}
