import { describe, expect, it } from "vitest";
import { WHOLE_PICTURE, actualSize, clampViewport, focusOn, frameOf, inPicture, onScreen, panBy, zoomAt } from "./viewport";

const room = { width: 400, height: 300 };
const picture = { width: 1000, height: 1000 };

describe("what is seen of a picture", () => {
  it("fits and is in the middle", () => {
    expect(frameOf(WHOLE_PICTURE, room, picture)).toEqual({ scale: 0.3, x: 50, y: 0 });
  });

  it("keeps what lies under the pointer when it zooms", () => {
    const at = { x: 180, y: 120 };
    let viewport = zoomAt(WHOLE_PICTURE, room, picture, { x: 200, y: 150 }, 4);
    const before = inPicture(at, frameOf(viewport, room, picture));
    viewport = zoomAt(viewport, room, picture, at, 1.5);
    const after = inPicture(at, frameOf(viewport, room, picture));
    expect(after.x).toBeCloseTo(before.x);
    expect(after.y).toBeCloseTo(before.y);
  });

  it("never leaves the picture, and never grows without end", () => {
    let viewport = zoomAt(WHOLE_PICTURE, room, picture, { x: 0, y: 0 }, 1e9);
    expect(frameOf(viewport, room, picture).scale).toBeCloseTo(32);
    viewport = panBy(viewport, room, picture, 1e9, 1e9);
    const frame = frameOf(viewport, room, picture);
    expect(frame.x).toBeCloseTo(0);
    expect(frame.y).toBeCloseTo(0);
    expect(clampViewport({ zoom: 0.001, cx: 5, cy: -3 }, room, picture)).toEqual(WHOLE_PICTURE);
  });

  it("shows one pixel as one pixel, also of a picture smaller than its room", () => {
    expect(frameOf(actualSize(WHOLE_PICTURE, room, picture, 1), room, picture).scale).toBeCloseTo(1);
    const small = { width: 40, height: 40 };
    expect(frameOf(actualSize(WHOLE_PICTURE, room, small, 1), room, small).scale).toBeCloseTo(1);
  });

  it("shows all of a part that it is told to show", () => {
    const part = { x1: 100, y1: 600, x2: 200, y2: 650 };
    const seen = onScreen(part, frameOf(focusOn(part, room, picture), room, picture));
    expect(seen.x1).toBeGreaterThanOrEqual(0);
    expect(seen.y2).toBeLessThanOrEqual(room.height);
    expect(seen.x2 - seen.x1).toBeGreaterThan(room.width / 2);
  });
});
