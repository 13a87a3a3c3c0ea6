// A scan on this side of the wire: fetched coarse first, then whole; and what is in it.
import { request } from "../api/client";
import { type Volume, readHu, readLabels } from "./nifti";
import type { Space, Triple } from "./space";

export interface Scan {
  /** Of the whole scan, with its axes to the right, the front and the head. */
  space: Space;
  /** Every so-many-th voxel is here. */
  step: number;
  dims: Triple;
  voxels: Int16Array;
}

/** HU at a voxel of the whole scan; the nearest one there is where the scan is still coarse. */
export function huAt(scan: Scan, voxel: Triple): number {
  const [i, j, k] = [0, 1, 2].map((axis) => Math.min((scan.dims[axis] ?? 1) - 1, Math.round((voxel[axis] ?? 0) / scan.step)));
  return scan.voxels[(i ?? 0) + scan.dims[0] * ((j ?? 0) + scan.dims[1] * (k ?? 0))] ?? 0;
}

/** A small copy that fills exactly the same space: NiiVue's own, for its camera and for 3D. */
export function downsample(scan: Scan, longest: number): Volume<Int16Array> {
  const { space } = scan;
  const side = (axis: 0 | 1 | 2) => Math.max(1, Math.min(space.shape[axis], longest));
  const dims: Triple = [side(0), side(1), side(2)];
  const scale = [0, 1, 2].map((axis) => (space.shape[axis] ?? 1) / (dims[axis] ?? 1));
  // From the place of each small voxel's middle to the nearest voxel that is here.
  const places = dims.map((size, axis) =>
    Array.from({ length: size }, (_, n) => {
      const whole = (n + 0.5) * (scale[axis] ?? 1) - 0.5;
      return Math.min((scan.dims[axis] ?? 1) - 1, Math.max(0, Math.round(whole / scan.step)));
    }),
  );
  const [is, js, ks] = [places[0] ?? [], places[1] ?? [], places[2] ?? []];
  const voxels = new Int16Array(dims[0] * dims[1] * dims[2]);
  let at = 0;
  for (const k of ks)
    for (const j of js) {
      const row = scan.dims[0] * (j + scan.dims[1] * k);
      for (const i of is) voxels[at++] = scan.voxels[row + i] ?? 0;
    }
  const affine = space.affine.slice(0, 3).map((row) => {
    const edge = (row[3] ?? 0) + [0, 1, 2].reduce((sum, axis) => sum + (row[axis] ?? 0) * (0.5 * (scale[axis] ?? 1) - 0.5), 0);
    return [...[0, 1, 2].map((axis) => (row[axis] ?? 0) * (scale[axis] ?? 1)), edge];
  });
  return { dims, affine, voxels };
}

/** Bytes from the server; `onProgress` gets the share that has come, from 0 to 1. */
async function fetchBytes(address: string, signal: AbortSignal, onProgress?: (share: number) => void): Promise<ArrayBuffer> {
  const response = await request(address, { signal });
  const total = Number(response.headers.get("content-length") ?? 0);
  const packed = response.headers.get("content-encoding") === "gzip";
  if (!response.body || !total || packed || !onProgress) return response.arrayBuffer();
  const all = new Uint8Array(total);
  const reader = response.body.getReader();
  for (let at = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    all.set(value, at);
    at += value.length;
    onProgress(at / total);
  }
  return all.buffer;
}

export async function fetchScan(address: string, space: Space, step: number, signal: AbortSignal, onProgress?: (share: number) => void): Promise<Scan> {
  const { dims, voxels } = readHu(await fetchBytes(address, signal, onProgress));
  return { space, step, dims, voxels };
}

export async function fetchLabels(address: string, signal: AbortSignal): Promise<Volume<Uint8Array>> {
  return readLabels(await fetchBytes(address, signal));
}
