// A volume with findings over it: axial, coronal, sagittal and 3D. Loaded only where it is needed.
export interface CtPaneProps {
  dataset: string;
  split: string;
  case: string;
  /** Name of the volume within the case ("ct"). */
  picture: string;
  /** Runs whose masks may be laid over it, first the one that is shown. */
  runs?: string[];
  /** Whether the truth may be shown now: a reader of his own reads first. */
  truth: boolean;
  /** Finding to jump to (its place in the truth's list, or the query's id). */
  finding?: string | undefined;
}

export default function CtPane({ picture }: CtPaneProps) {
  return <p class="film">{picture}</p>;
}
