// The arithmetic of the CT view: places, volumes, masks, windows.
import { describe, expect, it } from "vitest";
import { parseColour } from "./colours";
import { CLASS, type Layer, blockOf, downsampleLabels } from "./labels";
import { readHu, readLabels, writeHu } from "./nifti";
import { rulerLength } from "./Ruler";
import { type Scan, huAt, downsample } from "./scan";
import { type Space, beginsAt, indexOf, mmOf, placeWords, shareOf, stepFor, voxelAt, within } from "./space";
import { clampWindow, dragWindow } from "./windows";

const SPACE: Space = {
  shape: [10, 8, 6],
  spacing: [0.7, 0.8, 2],
  affine: [
    [0.69, -0.1, 0.2, -120],
    [0.1, 0.79, 0.1, -90],
    [-0.05, 0.05, 1.98, 40],
    [0, 0, 0, 1],
  ],
};

function labels(affine: number[][], dims: [number, number, number], filled: Record<string, number>): Layer["labels"] {
  const voxels = new Uint8Array(dims[0] * dims[1] * dims[2]);
  for (const [place, label] of Object.entries(filled)) {
    const [i = 0, j = 0, k = 0] = place.split(" ").map(Number);
    voxels[i + dims[0] * (j + dims[1] * k)] = label;
  }
  return { affine, dims, voxels };
}

describe("places", () => {
  it("goes to millimetres and back, also where the scan lies aslant", () => {
    const there = mmOf(SPACE, [3, 5, 2]);
    const back = indexOf(SPACE, there);
    [3, 5, 2].forEach((value, axis) => expect(back[axis]).toBeCloseTo(value, 9));
    expect(there[0]).toBeCloseTo(-120 + 3 * 0.69 - 5 * 0.1 + 2 * 0.2, 9);
  });
  it("finds the voxel at a share of the extent, and the share at a voxel's middle", () => {
    expect(voxelAt(SPACE, shareOf(SPACE, [9, 0, 3]))).toEqual([9, 0, 3]);
    expect(voxelAt(SPACE, [1, 1.2, -0.1])).toEqual([9, 7, 0]);
    expect(within(SPACE, [99, -4, 2.4])).toEqual([9, 0, 2]);
  });
  it("says where in the patient", () => {
    expect(placeWords([45.2, 12, 88])).toBe("R 45 A 12 S 88");
    expect(placeWords([-3.6, -0.7, -10])).toBe("L 4 P 1 I 10");
  });
  it("takes as few voxels as need be", () => {
    expect(stepFor([512, 512, 300], 4_000_000, 256)).toBe(3);
    expect(stepFor([512, 512, 300], 160_000_000, 2048)).toBe(1);
    expect(stepFor([512, 512, 300], 160_000_000, 256)).toBe(2);
  });
});

describe("volumes", () => {
  it("reads what it writes", () => {
    const voxels = Int16Array.from({ length: 24 }, (_, n) => n * 100 - 1000);
    const affine = SPACE.affine.slice(0, 3).map((row) => [...row]);
    const found = readHu(writeHu({ dims: [2, 3, 4], affine, voxels }));
    expect(found.dims).toEqual([2, 3, 4]);
    expect([...found.voxels]).toEqual([...voxels]);
    found.affine.forEach((row, r) => row.forEach((value, c) => expect(value).toBeCloseTo(affine[r]?.[c] ?? 0, 4)));
  });
  it("refuses what is no volume, or not the right one", () => {
    expect(() => readHu(new ArrayBuffer(400))).toThrow("no volume");
    const whole = writeHu({ dims: [2, 2, 2], affine: SPACE.affine.slice(0, 3).map((row) => [...row]), voxels: new Int16Array(8) });
    expect(() => readLabels(whole)).toThrow("cut off");
    expect(() => readHu(whole.slice(0, 360))).toThrow("cut off");
  });
  it("makes a miniature that fills the same space", () => {
    const scan: Scan = { space: SPACE, step: 2, dims: [5, 4, 3], voxels: Int16Array.from({ length: 60 }, (_, n) => n) };
    const small = downsample(scan, 3);
    expect(small.dims).toEqual([3, 3, 3]);
    // The outer corners of both coincide.
    const edge = (affine: readonly (readonly number[])[], at: number[]) => [0, 1, 2].map((r) => at.reduce((sum, value, c) => sum + (affine[r]?.[c] ?? 0) * value, affine[r]?.[3] ?? 0));
    for (const [low, big] of [[[-0.5, -0.5, -0.5], [-0.5, -0.5, -0.5]], [[2.5, 2.5, 2.5], [9.5, 7.5, 5.5]]] as const)
      edge(small.affine, [...low]).forEach((value, n) => expect(value).toBeCloseTo(edge(SPACE.affine, [...big])[n] ?? 0, 6));
    expect(huAt(scan, [9, 7, 5])).toBe(4 + 5 * (3 + 4 * 2));
    expect(huAt(scan, [2, 4, 0])).toBe(1 + 5 * 2);
  });
});

describe("masks", () => {
  const shifted = (i: number, j: number, k: number) => {
    const mm = mmOf(SPACE, [i, j, k]);
    return SPACE.affine.slice(0, 3).map((row, r) => [...row.slice(0, 3), mm[r] ?? 0]);
  };
  it("knows where a box begins", () => expect(beginsAt(SPACE, shifted(4, 2, 1))).toEqual([4, 2, 1]));
  it("puts findings together in one box", () => {
    const one: Layer = { mode: "compare", labels: labels(shifted(1, 1, 1), [2, 2, 1], { "0 0 0": 1, "1 1 0": 3 }) };
    const other: Layer = { mode: "truth", entity: 7, labels: labels(shifted(2, 2, 1), [2, 1, 2], { "0 0 0": 7, "1 0 1": 4 }) };
    const block = blockOf(SPACE, [one, other]);
    expect(block?.first).toEqual([1, 1, 1]);
    expect(block?.dims).toEqual([3, 2, 2]);
    const at = (i: number, j: number, k: number) => block?.classes[i + 3 * (j + 2 * k)];
    expect([at(0, 0, 0), at(1, 1, 0), at(2, 1, 1), at(2, 1, 0)]).toEqual([CLASS.hit, CLASS.chosen, CLASS.truth, 0]);
    expect(blockOf(SPACE, [])).toBeNull();
  });
  it("loses no lesion in the miniature", () => {
    const layer: Layer = { mode: "prediction", labels: labels(shifted(9, 7, 5), [1, 1, 1], { "0 0 0": 1 }) };
    const small = downsampleLabels(SPACE, blockOf(SPACE, [layer]), [2, 2, 2]);
    expect([...small]).toEqual([0, 0, 0, 0, 0, 0, 0, CLASS.prediction]);
  });
});

describe("looks", () => {
  it("bounds windows", () => {
    expect(clampWindow({ centre: 1e9, width: -5 })).toEqual({ centre: 32767, width: 1 });
    expect(clampWindow({ centre: NaN, width: NaN })).toEqual({ centre: -32768, width: 1 });
  });
  it("widens to the right and raises the centre downwards", () => {
    expect(dragWindow({ centre: 40, width: 400 }, 10, -20)).toEqual({ centre: 20, width: 410 });
  });
  it("reads colours as browsers tell them", () => expect(parseColour("rgb(255, 0, 51)")).toEqual([1, 0, 0.2]));
  it("has a ruler that fits", () => {
    expect(rulerLength(2)).toBe(50);
    expect(rulerLength(0.5)).toBe(200);
    expect(rulerLength(400)).toBe(1);
  });
});
