// A flat picture with boxes over it: zoom, pan, window and level; choosing, drawing, moving boxes.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Boxes } from "./Boxes";
import { DepthCanvas, deepText, useValues } from "./Depth";
import { KeyHints, Toolbar } from "./Toolbar";
import { type GestureContext, useGestures } from "./gestures";
import { type WindowLevel, AS_STORED, isAsStored, toLinear, windowText } from "./window_level";
import type { BoxKind } from "./lines";
import { useLoaded } from "./useLoaded";
import { useSize } from "../kit/useSize";
import { type Rect, type Viewport, WHOLE_PICTURE, focusOn, frameOf } from "./viewport";
import { toStored, toUpright, uprightSize } from "./orientation";
import "./stage.css";

/** A box in pixels of the picture. */
export interface StageBox extends Rect {
  /** Tells boxes apart. */
  id: string;
  label?: string;
  /** Colour and manner: what was seen, the truth, a hit … ("plain" without it). */
  kind?: BoxKind;
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
  /** Allows drawing a new box (drag, or keys); called when it is done. */
  onDraw?: (box: Rect) => void;
  /** Allows moving and resizing the chosen box (handles, or arrow keys). */
  onChange?: (id: string, box: Rect) => void;
  /** The part to show, in pixels of the picture; absent shows all of it. */
  focus?: Rect | undefined;
  /** How it is looked at, where somebody else keeps that: two pictures then move together. */
  viewport?: Viewport | undefined;
  onViewport?: (viewport: Viewport) => void;
  /** The same for window and level. */
  windowLevel?: WindowLevel | undefined;
  onWindowLevel?: (windowLevel: WindowLevel) => void;
  /** Take all the height there is, as in a full-size view. */
  filling?: boolean;
  /** Address of its greys, where they have more than 8 bits: a changed window is then made of these. */
  values?: string | undefined;
  /** Why there is no picture, where that is known: it is then not asked for. */
  problem?: string | null | undefined;
}

export function Stage(props: StageProps) {
  const { src, alt, boxes = [], tools = false, onChoose, onDraw, onChange, focus, filling = false } = props;
  const loaded = useLoaded(props.problem ? null : src);
  const [broken, setBroken] = useState<string | null>(null);
  const stored = { width: Math.max(1, props.width || 1), height: Math.max(1, props.height || 1) };
  const picture = uprightSize(stored, loaded.turn);
  const stage = useRef<HTMLDivElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const pointerText = useRef<HTMLSpanElement>(null);
  const { room, known } = useSize(surface, picture);
  const [viewport, setViewport] = useControllable(props.viewport, WHOLE_PICTURE, props.onViewport);
  const [windowLevel, setWindowLevel] = useControllable(props.windowLevel, AS_STORED, props.onWindowLevel);
  const filter = useId();

  const plain = isAsStored(windowLevel);
  const deep = useValues(!plain && props.values && !props.problem ? props.values : null);

  const upright = boxes.map((box) => ({ ...box, ...toUpright(box, stored, loaded.turn) }));
  const context: GestureContext = {
    surface,
    pointerText,
    room,
    picture,
    boxes: upright,
    viewport,
    setViewport,
    windowLevel,
    setWindowLevel,
    tools,
    onChoose,
    onDraw: onDraw ? (box) => onDraw(toStored(box, stored, loaded.turn)) : undefined,
    onChange: onChange ? (id, box) => onChange(id, toStored(box, stored, loaded.turn)) : undefined,
  };
  const { mode, setMode, live, ...gestures } = useGestures(context);

  const part = focus ? [focus.x1, focus.y1, focus.x2, focus.y2].join() : "";
  const before = useRef({ part: "", src });
  useEffect(() => {
    if (!known) return;
    if (focus) setViewport.current(focusOn(toUpright(focus, stored, loaded.turn), room, picture));
    else if (before.current.part || (before.current.src !== src && !props.viewport)) setViewport.current(WHOLE_PICTURE);
    before.current = { part, src };
  }, [part, src, known, loaded.turn]);

  const frame = frameOf(viewport, room, picture);
  const { slope, intercept } = toLinear(windowLevel);
  const problem = props.problem ?? loaded.problem ?? (broken === loaded.url ? broken && "this picture cannot be shown" : null);
  const film = `stage-picture${frame.scale >= 8 ? " pixels" : ""}`;
  const placed = {
    width: `${picture.width}px`,
    height: `${picture.height}px`,
    transform: `translate(${frame.x}px, ${frame.y}px) scale(${frame.scale})`,
  };
  const held = live?.kind === "pan" ? " held" : "";
  return (
    <div class={`stage${filling ? " filling" : ""}`} ref={stage} onKeyDown={tools || onDraw || onChange ? gestures.onKeyDown : undefined}>
      {tools && !problem ? (
        <Toolbar
          mode={mode}
          onMode={setMode}
          windowLevel={windowLevel}
          onWindowLevel={setWindowLevel.current}
          onZoom={gestures.zoom}
          onFit={gestures.fit}
          onActual={gestures.actual}
          marks={Boolean(onDraw)}
        />
      ) : filling ? (
        <span />
      ) : null}
      <div
        ref={surface}
        class={`stage-surface ${mode}${tools ? " with-tools" : ""}${held}`}
        style={filling ? {} : { aspectRatio: `${picture.width} / ${picture.height}` }}
        data-zoom={viewport.zoom.toFixed(3)}
        {...(tools || onDraw ? { tabIndex: 0, role: "application", "aria-label": `${alt}: ${tools ? "zoom, move, window" : "mark boxes"}` } : {})}
        onPointerDown={gestures.onPointerDown}
        onPointerMove={gestures.onPointerMove}
        onPointerUp={gestures.onPointerUp}
        onPointerCancel={gestures.onPointerCancel}
        onDblClick={tools && mode !== "mark" ? gestures.fit : undefined}
        onContextMenu={tools ? (event) => event.preventDefault() : undefined}
      >
        {plain || deep ? null : (
          <svg class="stage-filters" aria-hidden="true">
            <filter id={filter} color-interpolation-filters="sRGB">
              <feComponentTransfer>
                <feFuncR type="linear" slope={slope} intercept={intercept} />
                <feFuncG type="linear" slope={slope} intercept={intercept} />
                <feFuncB type="linear" slope={slope} intercept={intercept} />
              </feComponentTransfer>
            </filter>
          </svg>
        )}
        {deep && !problem ? (
          <DepthCanvas values={deep} windowLevel={windowLevel} alt={alt} class={film} style={placed} />
        ) : loaded.url && !problem ? (
          <img
            class={film}
            src={loaded.url}
            alt={alt}
            draggable={false}
            style={{ ...placed, filter: plain ? "none" : `url(#${filter})` }}
            onError={() => setBroken(loaded.url)}
          />
        ) : null}
        {problem ? <p class="stage-told">{sentence(problem)}</p> : loaded.url ? null : <p class="stage-told">Loading the picture …</p>}
        {problem ? null : (
          <Boxes
            boxes={live?.box ? [...upright.filter((box) => box.id !== live.id), liveBox(live.id, live.box, upright)] : upright}
            frame={frame}
            room={room}
            choosable={Boolean(onChoose)}
            changeable={Boolean(onChange)}
            onChoose={(id) => onChoose?.(id)}
          />
        )}
        {tools && !problem ? (
          <p class="stage-readout" aria-hidden="true">
            {Math.round(frame.scale * 100)} % · {deep ? deepText(windowLevel, deep) : windowText(windowLevel)}
            <span ref={pointerText} />
          </p>
        ) : null}
      </div>
      {tools && !problem ? <KeyHints mode={mode} changes={Boolean(onChange)} drawing={live?.kind === "keys"} /> : null}
      <span class="hidden-text" aria-live="polite">
        {live?.kind === "keys" && live.box ? `box from ${live.box.x1}, ${live.box.y1} to ${live.box.x2}, ${live.box.y2}` : ""}
      </span>
    </div>
  );
}

const DRAFT = "\u0000draft";

/** The box that is being drawn or moved, as it would become. */
function liveBox(id: string | null, box: Rect, among: StageBox[]): StageBox {
  const own = among.find((one) => one.id === id);
  return own ? { ...own, ...box } : { id: DRAFT, kind: "draft", ...box };
}

function sentence(text: string): string {
  const plain = text.charAt(0).toUpperCase() + text.slice(1);
  return plain.endsWith(".") ? plain : `${plain}.`;
}

/** A value that is kept here, unless somebody else keeps it. The setter never goes stale. */
function useControllable<T>(given: T | undefined, usual: T, onSet: ((value: T) => void) | undefined) {
  const [own, set] = useState(usual);
  const setter = useRef<(value: T) => void>(set);
  setter.current = (value) => {
    set(() => value);
    onSet?.(value);
  };
  return [given ?? own, setter] as const;
}
