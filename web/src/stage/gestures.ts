// What the pointer and the keys do on the stage.
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Mode } from "./Toolbar";
import { type WindowLevel, AS_STORED, changeWindow, nextPreset } from "./window_level";
import { type Handle, arrow, initialBox, boxBetween, dragBox, nudgeBox } from "./box_editing";
import type { Size } from "../kit/useSize";
import { type Rect, type Viewport, WHOLE_PICTURE, actualSize, frameOf, inPicture, panBy, zoomAt } from "./viewport";

export interface GestureContext {
  surface: RefObject<HTMLDivElement>;
  /** Where the pointer's place in the picture is written. */
  pointerText: RefObject<HTMLSpanElement>;
  room: Size;
  picture: Size;
  boxes: (Rect & { id: string; chosen?: boolean })[];
  viewport: Viewport;
  setViewport: RefObject<(viewport: Viewport) => void>;
  windowLevel: WindowLevel;
  setWindowLevel: RefObject<(windowLevel: WindowLevel) => void>;
  tools: boolean;
  onChoose: ((id: string) => void) | undefined;
  onDraw: ((box: Rect) => void) | undefined;
  onChange: ((id: string, box: Rect) => void) | undefined;
}

/** What is being done now. */
interface Live {
  kind: "pan" | "window" | "draw" | "change" | "keys";
  id: string | null;
  box: Rect | null;
}

interface Held {
  kind: Exclude<Live["kind"], "keys">;
  at: { x: number; y: number };
  target: Element;
  viewport: Viewport;
  windowLevel: WindowLevel;
  id: string | null;
  box: Rect | null;
  handle: Handle;
  moved: boolean;
}

const STILL = 4;
const NEARER = 1.25;

export function useGestures(given: GestureContext) {
  // Several events may come before the next drawing: the latest state is kept beside it.
  const now = useRef(given);
  now.current = given;
  const held = useRef<Held | null>(null);
  const [chosenMode, setMode] = useState<Mode>("move");
  const mode: Mode = given.tools ? chosenMode : given.onDraw ? "mark" : "move";
  const [live, setLiveState] = useState<Live | null>(null);
  const liveNow = useRef(live);
  const setLive = (next: Live | null) => {
    liveNow.current = next;
    setLiveState(next);
  };
  const see = (viewport: Viewport) => {
    now.current = { ...now.current, viewport };
    now.current.setViewport.current?.(viewport);
  };
  const show = (windowLevel: WindowLevel) => {
    now.current = { ...now.current, windowLevel };
    now.current.setWindowLevel.current?.(windowLevel);
  };
  const frame = () => frameOf(now.current.viewport, now.current.room, now.current.picture);
  const place = (event: MouseEvent) => {
    const own = now.current.surface.current?.getBoundingClientRect();
    return { x: event.clientX - (own?.left ?? 0), y: event.clientY - (own?.top ?? 0) };
  };
  const middle = () => ({ x: now.current.room.width / 2, y: now.current.room.height / 2 });
  const zoom = (factor: number, at = middle()) => see(zoomAt(now.current.viewport, now.current.room, now.current.picture, at, factor));

  useEffect(() => {
    const surface = given.surface.current;
    if (!surface || !given.tools) return;
    const wheel = (event: WheelEvent) => {
      if (event.ctrlKey && !event.cancelable) return;
      event.preventDefault();
      const step = event.deltaMode === 1 ? event.deltaY * 20 : event.deltaY;
      zoom(Math.exp(-Math.max(-200, Math.min(200, step)) / 400), place(event));
    };
    surface.addEventListener("wheel", wheel, { passive: false });
    return () => surface.removeEventListener("wheel", wheel);
  }, [given.tools]);

  const onPointerDown = (event: PointerEvent) => {
    const { tools, onDraw, onChange, onChoose, boxes, viewport, windowLevel, surface } = now.current;
    const target = event.target as Element;
    const handle = target.getAttribute("data-handle") as Handle | null;
    const id = target.closest("[data-box]")?.getAttribute("data-box") ?? null;
    const kind = whatFor(event.button, { mode, tools, changes: Boolean(handle && onChange), draws: Boolean(onDraw) });
    if (!kind && !(onChoose && id)) return;
    const box = kind === "change" ? (boxes.find((one) => one.id === id) ?? null) : null;
    held.current = { kind: kind ?? "pan", at: place(event), target, viewport, windowLevel, id, box, handle: handle ?? "move", moved: false };
    surface.current?.setPointerCapture(event.pointerId);
    surface.current?.focus({ preventScroll: true });
    if (kind) event.preventDefault();
  };

  const onPointerMove = (event: PointerEvent) => {
    const { picture, room, pointerText, tools } = now.current;
    const at = place(event);
    if (pointerText.current) {
      const { x, y } = inPicture(at, frame());
      const inside = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
      pointerText.current.textContent = inside ? ` · x ${Math.floor(x)} y ${Math.floor(y)}` : "";
    }
    const own = held.current;
    if (!own) return;
    const dx = at.x - own.at.x;
    const dy = at.y - own.at.y;
    if (!own.moved && Math.hypot(dx, dy) < STILL) return;
    own.moved = true;
    const { scale } = frame();
    if (own.kind === "pan" && tools) {
      see(panBy(own.viewport, room, picture, dx, dy));
      setLive({ kind: "pan", id: null, box: null });
    } else if (own.kind === "window") {
      show(changeWindow(own.windowLevel, dx, -dy));
    } else if (own.kind === "draw") {
      setLive({ kind: "draw", id: null, box: boxBetween(inPicture(own.at, frame()), inPicture(at, frame()), picture) });
    } else if (own.kind === "change" && own.box) {
      setLive({ kind: "change", id: own.id, box: dragBox(own.box, own.handle, dx / scale, dy / scale, picture) });
    }
  };

  const onPointerUp = () => {
    const own = held.current;
    held.current = null;
    if (!own) return;
    const made = liveNow.current;
    if (made?.kind !== "keys" || own.moved) setLive(null);
    if (!own.moved) {
      if (own.id !== null && own.kind !== "window") choose(own.id);
      return;
    }
    if (own.kind === "draw" && made?.box && area(made.box) > 0) finish(made.box);
    if (own.kind === "change" && made?.box && own.id !== null) {
      now.current.onChange?.(own.id, made.box);
      boxElement(own.id)?.focus({ preventScroll: true });
    }
  };

  const boxElement = (id: string) => {
    const all = now.current.surface.current?.querySelectorAll<SVGGElement>(".stage-box[role=button]") ?? [];
    return [...all].find((one) => one.getAttribute("data-box") === id);
  };
  const choose = (id: string) => {
    now.current.onChoose?.(id);
    boxElement(id)?.focus({ preventScroll: true });
  };
  const finish = (box: Rect) => {
    setLive(null);
    setMode("move");
    now.current.onDraw?.(box);
  };
  const drop = () => {
    held.current = null;
    setLive(null);
    setMode("move");
  };
  const beginByKeys = () => {
    const { room, picture } = now.current;
    const from = inPicture({ x: 0, y: 0 }, frame());
    const until = inPicture({ x: room.width, y: room.height }, frame());
    setLive({ kind: "keys", id: null, box: initialBox(boxBetween(from, until, picture)) });
  };
  const changeMode = (next: Mode, byKeys = false) => {
    setMode(next);
    setLive(null);
    now.current.surface.current?.focus({ preventScroll: true });
    if (next === "mark" && byKeys) beginByKeys();
  };

  /** Whether a key was for a box: the one that is being drawn, or the chosen one. */
  const boxKeys = (event: KeyboardEvent): boolean => {
    const { picture, onChange, boxes } = now.current;
    const step = Math.max(1, Math.round(3 / frame().scale));
    const drawn = liveNow.current;
    if (drawn?.kind === "keys" && drawn.box) {
      if (event.key === "Enter") finish(drawn.box);
      else if (event.key === "Escape") drop();
      else {
        const moved = nudgeBox(drawn.box, event.key, event.shiftKey, step, picture);
        if (moved) setLive({ ...drawn, box: moved });
        return moved !== null;
      }
      return true;
    }
    const id = (event.target as Element).closest(".stage-box")?.getAttribute("data-box");
    const own = boxes.find((one) => one.id === id);
    if (!own) return false;
    if (event.key === "Escape") now.current.surface.current?.focus();
    else {
      const moved = own.chosen && onChange ? nudgeBox(own, event.key, event.shiftKey, step, picture) : null;
      if (moved) onChange?.(own.id, moved);
      return moved !== null;
    }
    return true;
  };

  const viewKeys = (event: KeyboardEvent): boolean => {
    const { viewport, room, picture, windowLevel, onDraw } = now.current;
    const way = arrow(event.key);
    if (way) see(panBy(viewport, room, picture, -way[0] * 48, -way[1] * 48));
    else if (event.key === "+" || event.key === "=") zoom(NEARER);
    else if (event.key === "-") zoom(1 / NEARER);
    else if (event.key === "0") see(WHOLE_PICTURE);
    else if (event.key === "1") see(actualSize(viewport, room, picture, devicePixelRatio || 1));
    else if (event.key === "[") show(changeWindow(windowLevel, 16, 0));
    else if (event.key === "]") show(changeWindow(windowLevel, -16, 0));
    else if (event.key === ",") show(changeWindow(windowLevel, 0, -8));
    else if (event.key === ".") show(changeWindow(windowLevel, 0, 8));
    else if (event.key === "w") show(nextPreset(windowLevel));
    else if (event.key === "i") show({ ...windowLevel, inverted: !windowLevel.inverted });
    else if (event.key === "Home") show(AS_STORED);
    else if (event.key === "m" && onDraw) changeMode("mark", true);
    else if (event.key === "Escape" && mode !== "move") drop();
    else return false;
    return true;
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as Element;
    if (target.matches("select, input, textarea")) return;
    const onButton = target.matches("button") && (arrow(event.key) || event.key === "Enter" || event.key === " ");
    if (onButton) return;
    const plain = !now.current.tools && event.key !== "m" && event.key !== "Escape";
    if (!boxKeys(event) && (plain || !viewKeys(event))) return;
    event.preventDefault();
    event.stopPropagation();
  };

  return {
    mode,
    setMode: changeMode,
    live,
    zoom,
    fit: () => see(WHOLE_PICTURE),
    actual: () => see(actualSize(now.current.viewport, now.current.room, now.current.picture, devicePixelRatio || 1)),
    onPointerDown,
    onPointerMove,
    onPointerUp,
    onPointerCancel: drop,
    onKeyDown,
  };
}

function area(box: Rect): number {
  return (box.x2 - box.x1) * (box.y2 - box.y1);
}

/** What a press of a button on the picture begins. */
function whatFor(button: number, how: { mode: Mode; tools: boolean; changes: boolean; draws: boolean }): Held["kind"] | null {
  if (button === 2) return how.tools ? "window" : null;
  if (button === 1) return how.tools ? "pan" : null;
  if (button !== 0) return null;
  if (how.mode === "mark" && how.draws) return "draw";
  if (how.changes) return "change";
  if (!how.tools) return null;
  return how.mode === "window" ? "window" : "pan";
}
