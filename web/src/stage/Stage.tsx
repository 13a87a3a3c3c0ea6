// A flat picture with boxes over it. First version: the picture at its own shape, boxes drawn.
export interface StageBox {
  /** Tells boxes apart. */
  id: string;
  /** In pixels of the picture. */
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  label?: string;
  /** Colour and manner: what was seen, the truth, a hit … ("plain" without it). */
  kind?: "plain" | "truth" | "reader" | "other" | "hit" | "miss" | "alarm" | "draft";
  chosen?: boolean;
}

export interface StageProps {
  /** Address of the picture (see `pictureUrl` in cases/pictures.ts). */
  src: string;
  /** What the picture is, for those who cannot see it. */
  alt: string;
  /** Its size in pixels, in which boxes are given. */
  width: number;
  height: number;
  boxes?: StageBox[];
  /** Zoom, pan, window and level with their tools and keys; without it a plain picture. */
  tools?: boolean;
  onChoose?: (id: string) => void;
  /** Allows drawing a new box (drag, or keys); told when it is done. */
  onDraw?: (box: { x1: number; y1: number; x2: number; y2: number }) => void;
  /** Allows moving and resizing the chosen box (handles, or arrow keys). */
  onChange?: (id: string, box: { x1: number; y1: number; x2: number; y2: number }) => void;
  /** The part to show, in pixels of the picture; absent shows all of it. */
  focus?: { x1: number; y1: number; x2: number; y2: number } | undefined;
}

export function Stage({ src, alt, width, height, boxes = [] }: StageProps) {
  return (
    <div class="film" style={{ position: "relative" }}>
      <img src={src} alt={alt} style={{ width: "100%", display: "block" }} />
      <svg viewBox={`0 0 ${width} ${height}`} style={{ position: "absolute", inset: 0, width: "100%", height: "100%" }} aria-hidden="true">
        {boxes.map((box) => (
          <rect key={box.id} x={box.x1} y={box.y1} width={box.x2 - box.x1} height={box.y2 - box.y1} fill="none" stroke="var(--hit)" vector-effect="non-scaling-stroke" stroke-width="2" />
        ))}
      </svg>
    </div>
  );
}
