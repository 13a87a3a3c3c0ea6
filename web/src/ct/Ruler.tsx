// On the film: a ruler of as many centimetres as fit, and which side of the patient is where.
import type { Plane } from "./space";
import type { Tile } from "./tiling";

const LENGTHS = [200, 100, 50, 20, 10, 5, 2, 1] as const;
const ROOM = 180;

export function rulerLength(pixels: number): number {
  return LENGTHS.find((mm) => mm * pixels <= ROOM) ?? 1;
}

/** `pixels` is how many a millimetre has. */
export function Ruler({ pixels }: { pixels: number }) {
  const mm = rulerLength(pixels);
  return (
    <div class="ct-ruler" style={{ width: `${mm * pixels}px` }} data-mm={mm}>
      {mm >= 10 ? `${mm / 10} cm` : `${mm} mm`}
    </div>
  );
}

/** Left, top, right, bottom of a plane as a radiologist sees it. */
const SIDES: Record<Plane, readonly [string, string, string, string]> = {
  axial: ["R", "A", "L", "P"],
  coronal: ["R", "S", "L", "I"],
  sagittal: ["A", "S", "P", "I"],
};
const EDGES = ["left", "top", "right", "bottom"] as const;

export function Markers({ plane, tile: [left, top, width, height] }: { plane: Plane; tile: Tile }) {
  const share = (part: number) => `${100 * part}%`;
  return (
    <div class="ct-markers" style={{ left: share(left), top: share(top), width: share(width), height: share(height) }}>
      {SIDES[plane].map((letter, n) => (
        <span key={letter} class={`ct-marker ct-marker-${EDGES[n] ?? "left"}`} aria-hidden="true">
          {letter}
        </span>
      ))}
    </div>
  );
}
