// Masks of several findings as one small volume of classes: what colour and pattern a voxel has.
import type { Volume } from "./nifti";
import { type Space, type Triple, beginsAt } from "./space";

export type Mode = "compare" | "truth" | "prediction";

/** The server's values of a comparison come first, so that they need no translation. */
export const CLASS = { hit: 1, miss: 2, alarm: 3, truth: 4, prediction: 5, chosen: 6 } as const;
export type ClassName = keyof typeof CLASS;

export interface Layer {
  mode: Mode;
  labels: Volume<Uint8Array>;
  /** An entity of a truth to be shown by itself. */
  entity?: number | undefined;
}

export interface Block {
  first: Triple;
  dims: Triple;
  classes: Uint8Array;
}

function classOf(layer: Layer, label: number): number {
  if (layer.mode === "compare") return label;
  if (layer.mode === "prediction") return CLASS.prediction;
  return layer.entity === label ? CLASS.chosen : CLASS.truth;
}

/** The classes of all layers in the box around them; where layers overlap the later one wins. */
export function blockOf(space: Space, layers: readonly Layer[]): Block | null {
  if (layers.length === 0) return null;
  const firsts = layers.map((layer) => beginsAt(space, layer.labels.affine));
  const end = (axis: 0 | 1 | 2) => Math.max(...layers.map((layer, n) => (firsts[n]?.[axis] ?? 0) + layer.labels.dims[axis]));
  const low = (axis: 0 | 1 | 2) => Math.min(...firsts.map((first) => first[axis]));
  const first: Triple = [low(0), low(1), low(2)];
  const dims: Triple = [end(0) - first[0], end(1) - first[1], end(2) - first[2]];
  const classes = new Uint8Array(dims[0] * dims[1] * dims[2]);
  layers.forEach((layer, n) => {
    const own = firsts[n] ?? first;
    const of = new Uint8Array(256);
    for (let label = 1; label < 256; label++) of[label] = classOf(layer, label);
    const { dims: size, voxels } = layer.labels;
    for (let k = 0; k < size[2]; k++)
      for (let j = 0; j < size[1]; j++) {
        const from = size[0] * (j + size[1] * k);
        const to = own[0] - first[0] + dims[0] * (own[1] - first[1] + j + dims[1] * (own[2] - first[2] + k));
        for (let i = 0; i < size[0]; i++) {
          const label = voxels[from + i] ?? 0;
          if (label) classes[to + i] = of[label] ?? 0;
        }
      }
  });
  return { first, dims, classes };
}

/** The same classes on the grid of a miniature: any voxel inside a small one is enough. */
export function downsampleLabels(space: Space, block: Block | null, dims: Triple): Uint8Array {
  const small = new Uint8Array(dims[0] * dims[1] * dims[2]);
  if (!block) return small;
  const place = (axis: 0 | 1 | 2, index: number) => Math.floor(((index + 0.5) / space.shape[axis]) * dims[axis]);
  for (let k = 0, at = 0; k < block.dims[2]; k++)
    for (let j = 0; j < block.dims[1]; j++) {
      const row = dims[0] * (place(1, block.first[1] + j) + dims[1] * place(2, block.first[2] + k));
      for (let i = 0; i < block.dims[0]; i++, at++) {
        const own = block.classes[at] ?? 0;
        if (own) small[row + place(0, block.first[0] + i)] = own;
      }
    }
  return small;
}
