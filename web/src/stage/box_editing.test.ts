import { describe, expect, it } from "vitest";
import { initialBox, boxBetween, dragBox, nudgeBox } from "./box_editing";
import { toStored, toUpright, uprightSize } from "./orientation";

const picture = { width: 100, height: 80 };
const box = { x1: 10, y1: 20, x2: 30, y2: 40 };

describe("boxes", () => {
  it("are whole pixels inside the picture, whichever corner came first", () => {
    expect(boxBetween({ x: 50.4, y: 90 }, { x: -5, y: 10.6 }, picture)).toEqual({ x1: 0, y1: 11, x2: 50, y2: 80 });
  });

  it("keep their size when they are moved against the edge", () => {
    expect(dragBox(box, "move", 1000, -1000, picture)).toEqual({ x1: 80, y1: 0, x2: 100, y2: 20 });
  });

  it("keep a pixel when a handle is drawn past the other side", () => {
    expect(dragBox(box, "nw", 500, 500, picture)).toEqual({ x1: 29, y1: 39, x2: 30, y2: 40 });
    expect(dragBox(box, "e", 500, 500, picture)).toEqual({ ...box, x2: 100 });
  });

  it("are moved and resized by arrow keys only", () => {
    expect(nudgeBox(box, "ArrowLeft", false, 3, picture)).toEqual({ ...box, x1: 7, x2: 27 });
    expect(nudgeBox(box, "ArrowDown", true, 3, picture)).toEqual({ ...box, y2: 43 });
    expect(nudgeBox(box, "a", false, 3, picture)).toBeNull();
  });

  it("begin in the middle of what is seen, however small that is", () => {
    expect(initialBox({ x1: 0, y1: 0, x2: 80, y2: 40 })).toEqual({ x1: 30, y1: 15, x2: 50, y2: 25 });
    const tiny = initialBox({ x1: 5, y1: 5, x2: 6, y2: 6 });
    expect(tiny.x2 - tiny.x1).toBe(1);
  });

  it("are turned with a picture that was stored on its side, and back", () => {
    expect(uprightSize(picture, 6)).toEqual({ width: 80, height: 100 });
    // A quarter to the right: what was at the left is at the top.
    expect(toUpright(box, picture, 6)).toEqual({ x1: 40, y1: 10, x2: 60, y2: 30 });
    for (let turn = 1; turn <= 8; turn++) expect(toStored(toUpright(box, picture, turn), picture, turn)).toEqual(box);
  });
});
