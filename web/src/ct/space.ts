// Where voxels lie in the patient: index, share of the volume, millimetres, words.
export type Triple = readonly [number, number, number];
export type Plane = "axial" | "coronal" | "sagittal";

/** Which axis of a volume that runs right, front, head the slices of a plane are counted along. */
export const AXIS: Record<Plane, 0 | 1 | 2> = { sagittal: 0, coronal: 1, axial: 2 };
export const PLANES: readonly Plane[] = ["axial", "coronal", "sagittal"];

export interface Space {
  shape: Triple;
  spacing: Triple;
  /** Index → millimetres to the right, the front and the head. */
  affine: readonly (readonly number[])[];
}

const at = (rows: readonly (readonly number[])[], row: number, column: number) => rows[row]?.[column] ?? 0;

/** Millimetres of an index, which need not be whole. */
export function mmOf(space: Space, index: Triple): Triple {
  const row = (r: number) => at(space.affine, r, 0) * index[0] + at(space.affine, r, 1) * index[1] + at(space.affine, r, 2) * index[2] + at(space.affine, r, 3);
  return [row(0), row(1), row(2)];
}

/** Index of a point in millimetres, not rounded. */
export function indexOf(space: Space, mm: Triple): Triple {
  const m = (r: number, c: number) => at(space.affine, r, c);
  const [x, y, z] = [mm[0] - m(0, 3), mm[1] - m(1, 3), mm[2] - m(2, 3)];
  // Cramer's rule: three directions that span space, as the server has checked.
  const minor = (a: number, b: number, c: number, d: number) => m(a, c) * m(b, d) - m(a, d) * m(b, c);
  const det = m(0, 0) * minor(1, 2, 1, 2) - m(0, 1) * minor(1, 2, 0, 2) + m(0, 2) * minor(1, 2, 0, 1);
  return [
    (x * minor(1, 2, 1, 2) - y * minor(0, 2, 1, 2) + z * minor(0, 1, 1, 2)) / det,
    (-x * minor(1, 2, 0, 2) + y * minor(0, 2, 0, 2) - z * minor(0, 1, 0, 2)) / det,
    (x * minor(1, 2, 0, 1) - y * minor(0, 2, 0, 1) + z * minor(0, 1, 0, 1)) / det,
  ];
}

/** The share of the volume's extent that an index lies at: its first voxel begins at 0. */
export function shareOf(space: Space, index: Triple): Triple {
  return [(index[0] + 0.5) / space.shape[0], (index[1] + 0.5) / space.shape[1], (index[2] + 0.5) / space.shape[2]];
}

/** The voxel at a share of the volume, never outside of it. */
export function voxelAt(space: Space, share: Triple): Triple {
  const one = (axis: 0 | 1 | 2) => Math.min(space.shape[axis] - 1, Math.max(0, Math.floor(share[axis] * space.shape[axis])));
  return [one(0), one(1), one(2)];
}

/** The nearest voxel of the volume. */
export function within(space: Space, index: Triple): Triple {
  const one = (axis: 0 | 1 | 2) => Math.min(space.shape[axis] - 1, Math.max(0, Math.round(index[axis])));
  return [one(0), one(1), one(2)];
}

/** A place as people say it: "R 45 A 12 S 88", in whole millimetres. */
export function placeWords(mm: Triple): string {
  const one = (value: number, plus: string, minus: string) => `${value < -0.5 ? minus : plus} ${Math.abs(Math.round(value))}`;
  return [one(mm[0], "R", "L"), one(mm[1], "A", "P"), one(mm[2], "S", "I")].join(" ");
}

/** The box of one volume inside another of the same grid: the index where it begins. */
export function beginsAt(space: Space, affine: readonly (readonly number[])[]): Triple {
  const found = indexOf(space, [at(affine, 0, 3), at(affine, 1, 3), at(affine, 2, 3)]);
  return [Math.round(found[0]), Math.round(found[1]), Math.round(found[2])];
}

/** With how many voxels between those taken a volume has at most so many voxels. */
export function stepFor(shape: Triple, most: number, longest = Infinity): number {
  for (let step = 1; step <= 16; step++) {
    const sizes = shape.map((size) => Math.ceil(size / step));
    if (sizes.reduce((a, b) => a * b, 1) <= most && sizes.every((size) => size <= longest)) return step;
  }
  return 16;
}
