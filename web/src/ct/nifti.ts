// NIfTI as the server sends it: one file, little-endian, voxels right behind the header.
import type { Triple } from "./space";

export interface Volume<T extends Int16Array | Uint8Array> {
  dims: Triple;
  affine: number[][];
  voxels: T;
}

const HEAD = 352;
const INT16 = 4;
const UINT8 = 2;

function head(buffer: ArrayBuffer, type: number, bytes: number): { dims: Triple; affine: number[][]; count: number } {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEAD || view.getInt32(0, true) !== 348) throw new Error("the server sent no volume");
  const size = (n: number) => view.getInt16(40 + 2 * n, true);
  const dims: Triple = [size(1), size(2), size(3)];
  const count = dims[0] * dims[1] * dims[2];
  if (view.getInt16(70, true) !== type || buffer.byteLength < HEAD + count * bytes) throw new Error("the volume is cut off");
  const affine = [0, 1, 2].map((row) => [0, 1, 2, 3].map((column) => view.getFloat32(280 + 16 * row + 4 * column, true)));
  return { dims, affine, count };
}

export function readHu(buffer: ArrayBuffer): Volume<Int16Array> {
  const { dims, affine, count } = head(buffer, INT16, 2);
  return { dims, affine, voxels: new Int16Array(buffer, HEAD, count) };
}

export function readLabels(buffer: ArrayBuffer): Volume<Uint8Array> {
  const { dims, affine, count } = head(buffer, UINT8, 1);
  return { dims, affine, voxels: new Uint8Array(buffer, HEAD, count) };
}

/** A NIfTI file of int16 voxels. */
export function writeHu(volume: Volume<Int16Array>): ArrayBuffer {
  const buffer = new ArrayBuffer(HEAD + volume.voxels.byteLength);
  const view = new DataView(buffer);
  view.setInt32(0, 348, true);
  [3, ...volume.dims, 1, 1, 1, 1].forEach((size, n) => view.setInt16(40 + 2 * n, size, true));
  view.setInt16(70, INT16, true);
  view.setInt16(72, 16, true);
  const spacing = [0, 1, 2].map((column) => Math.hypot(...volume.affine.map((row) => row[column] ?? 0)));
  [1, ...spacing, 1, 1, 1, 1].forEach((mm, n) => view.setFloat32(76 + 4 * n, mm, true));
  view.setFloat32(108, HEAD, true);
  view.setFloat32(112, 1, true);
  view.setUint8(123, 2); // millimetres
  view.setInt16(254, 1, true);
  volume.affine.forEach((row, r) => row.forEach((value, c) => view.setFloat32(280 + 16 * r + 4 * c, value, true)));
  [0x6e, 0x2b, 0x31, 0].forEach((byte, n) => view.setUint8(344 + n, byte));
  new Int16Array(buffer, HEAD).set(volume.voxels);
  return buffer;
}
