// The boxes over a picture, in points of the screen, so that lines and labels keep their size.
import { LABEL_HEIGHT, type PlacedLabel, placeLabels } from "./labels";
import { LINES } from "./lines";
import { HANDLES, type Handle } from "./box_editing";
import type { StageBox } from "./Stage";
import type { Size } from "../kit/useSize";
import { type Frame, type Rect, onScreen } from "./viewport";

interface BoxesProps {
  boxes: StageBox[];
  frame: Frame;
  room: Size;
  /** Whether a box can be chosen, and whether the chosen one can be changed. */
  choosable: boolean;
  changeable: boolean;
  onChoose: (id: string) => void;
}

const REACH = 5;

export function Boxes({ boxes, frame, room, choosable, changeable, onChoose }: BoxesProps) {
  const seen = boxes.map((box) => ({ own: box, box: onScreen(box, frame), label: box.label }));
  const labels = placeLabels(seen, room);
  return (
    <svg class="stage-boxes" width={room.width} height={room.height} role="group" aria-label={`${boxes.length} boxes`}>
      {seen.map(({ own, box }) => (
        <OneBox key={own.id} own={own} box={box} choosable={choosable && own.kind !== "draft"} onChoose={onChoose} />
      ))}
      {changeable
        ? seen.filter(({ own }) => own.chosen).map(({ own, box }) => <Grips key={own.id} id={own.id} box={box} />)
        : null}
      {seen.map(({ own }, at) => (labels[at] ? <Label key={own.id} own={own} touchable={choosable} {...labels[at]} /> : null))}
    </svg>
  );
}

interface OneBoxProps {
  own: StageBox;
  box: Rect;
  choosable: boolean;
  onChoose: (id: string) => void;
}

function OneBox({ own, box, choosable, onChoose }: OneBoxProps) {
  const line = LINES[own.kind ?? "plain"];
  const place = { x: box.x1, y: box.y1, width: Math.max(1, box.x2 - box.x1), height: Math.max(1, box.y2 - box.y1) };
  const width = line.width + (own.chosen ? 1.5 : 0);
  const title = `${line.title}: ${own.label ?? own.id}`;
  const keys = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    onChoose(own.id);
  };
  // A pointer's click is the surface's, which knows whether it was a drag; this one has no pointer.
  const click = (event: MouseEvent) => (event.detail === 0 ? onChoose(own.id) : undefined);
  // In SVG the name of an attribute is taken letter by letter: tabIndex would be none.
  const part = choosable
    ? { role: "button" as const, tabindex: 0, "aria-pressed": Boolean(own.chosen), onKeyDown: keys, onClick: click }
    : { role: "img" as const };
  return (
    <g class={`stage-box${own.chosen ? " chosen" : ""}`} data-box={own.id} data-kind={own.kind ?? "plain"} aria-label={title} {...part}>
      <title>{title}</title>
      {own.chosen ? <rect {...place} fill={line.colour} fill-opacity="0.14" /> : null}
      <rect {...place} fill="none" stroke="var(--film)" stroke-opacity="0.65" stroke-width={width + 2.5} />
      <rect {...place} fill="none" stroke={line.colour} stroke-width={width} stroke-dasharray={line.dash} />
      {choosable || own.chosen ? <rect {...place} class="stage-touch" fill="none" stroke="transparent" stroke-width="12" /> : null}
    </g>
  );
}

function Label({ own, touchable, text, x, y, width }: PlacedLabel & { own: StageBox; touchable: boolean }) {
  const line = LINES[own.kind ?? "plain"];
  return (
    <g class={`stage-label${touchable ? " touchable" : ""}`} data-box={own.id} aria-hidden="true">
      <rect x={x} y={y} width={width} height={LABEL_HEIGHT} rx="3" fill="var(--film)" fill-opacity="0.78" />
      <text x={x + 5} y={y + 13} fill={line.colour}>
        {text}
      </text>
    </g>
  );
}

function Grips({ id, box }: { id: string; box: Rect }) {
  const at = (handle: Handle) => ({
    x: handle.includes("w") ? box.x1 : handle.includes("e") ? box.x2 : (box.x1 + box.x2) / 2,
    y: handle.includes("n") ? box.y1 : handle.includes("s") ? box.y2 : (box.y1 + box.y2) / 2,
  });
  return (
    <g aria-hidden="true">
      <rect class="stage-grip move" data-box={id} data-handle="move" x={box.x1} y={box.y1} width={Math.max(0, box.x2 - box.x1)} height={Math.max(0, box.y2 - box.y1)} />
      {HANDLES.map((handle) => (
        <rect
          key={handle}
          class={`stage-grip ${handle}`}
          data-box={id}
          data-handle={handle}
          x={at(handle).x - REACH}
          y={at(handle).y - REACH}
          width={2 * REACH}
          height={2 * REACH}
        />
      ))}
    </g>
  );
}
