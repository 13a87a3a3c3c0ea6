// A scan of a question, slice by slice; the first and the last slice of a finding can be marked.
import { useEffect, useRef, useState } from "preact/hooks";
import { useApi } from "../api/client";
import { Loading, ErrorBox } from "../kit/kit";
import type { PaneProps } from "./Evidence";
import { markedSlices } from "./draft";
import { type EvidenceVolume, queueApi } from "./types";

const PLANES = ["axial", "coronal", "sagittal"] as const;
const WINDOWS = ["lung", "mediastinum", "bone"] as const;
const AHEAD = 4;
const NEAREST = 6;

export function SlicePane({ build, question, number, picture, draft, change, own }: PaneProps) {
  const asked = useApi<EvidenceVolume>(queueApi(build, "volume", { question: question.id, n: number }));
  const [plane, setPlane] = useState<(typeof PLANES)[number]>("axial");
  const [window_, setWindow] = useState<(typeof WINDOWS)[number]>("lung");
  const [masks, setMasks] = useState(true);
  const [places, setPlaces] = useState<Record<string, number>>({});
  const [near, setNear] = useState({ zoom: 1, x: 50, y: 50 });
  const film = useRef<HTMLDivElement>(null);
  const volume = asked.data;
  const count = volume?.counts[plane] ?? 1;
  const index = places[plane] ?? volume?.starts[plane] ?? 0;
  const marked = markedSlices(draft);

  const goTo = (to: number) => setPlaces((before) => ({ ...before, [plane]: Math.max(0, Math.min(count - 1, Math.round(to) || 0)) }));
  const address = (at: number) =>
    queueApi(build, "slice", { question: question.id, n: number, plane, window: window_, index: at, masks: masks ? 1 : 0 });
  const zoom = (factor: number) => setNear((before) => ({ ...before, zoom: Math.max(1, Math.min(NEAREST, before.zoom * factor)) }));
  const mark = (end: "first" | "last") => {
    setPlane("axial");
    change({ [end]: places.axial ?? volume?.starts.axial ?? 0 });
  };

  own.key = (key) => {
    if (!volume) return null;
    const steps: Record<string, number> = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
    const step = steps[key];
    if (step) return () => goTo(index + step);
    if (key === "Home") return () => goTo(0);
    if (key === "End") return () => goTo(count - 1);
    if (key === "p") return () => setPlane(next(PLANES, plane));
    if (key === "w") return () => setWindow(next(WINDOWS, window_));
    if (key === "m" && volume.masks) return () => setMasks(!masks);
    if (key === "f" || key === "l") return () => mark(key === "f" ? "first" : "last");
    if (key === "+" || key === "=") return () => zoom(1.5);
    if (key === "-") return () => zoom(1 / 1.5);
    return null;
  };

  const wheel = useRef((_: WheelEvent) => {});
  wheel.current = (event) => {
    event.preventDefault();
    if (event.ctrlKey) zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    else goTo(index + (event.deltaY < 0 ? 1 : -1));
  };
  useEffect(() => {
    const surface = film.current;
    const listen = (event: WheelEvent) => wheel.current(event);
    surface?.addEventListener("wheel", listen, { passive: false });
    return () => surface?.removeEventListener("wheel", listen);
  }, [volume !== null]);
  useEffect(() => {
    if (!volume) return;
    for (let step = 1; step <= AHEAD; step += 1)
      for (const at of [index + step, index - step]) if (at >= 0 && at < count) new Image().src = address(at);
  }, [volume, plane, window_, masks, index]);

  if (asked.problem) return <ErrorBox problem={asked.problem} retry={asked.reload} />;
  if (!volume) return <Loading what="the scan" />;
  const isMarked = plane === "axial" && marked.includes(index);
  return (
    <div class="slice-pane">
      <div class="slice-pane-tools">
        <Choice label="Plane" all={PLANES} value={plane} set={setPlane} hint="p" />
        <Choice label="Window" all={WINDOWS} value={window_} set={setWindow} hint="w" />
        {volume.masks ? (
          <button type="button" aria-pressed={masks} onClick={() => setMasks(!masks)}>
            Mask <kbd>m</kbd>
          </button>
        ) : null}
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.5)}>
          <kbd>−</kbd>
        </button>
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.5)}>
          <kbd>+</kbd>
        </button>
      </div>
      <div
        class={`film slice-pane-film${isMarked ? " marked" : ""}`}
        ref={film}
        onPointerMove={(event) => {
          if (near.zoom <= 1 || !(event.buttons & 1)) return;
          const room = event.currentTarget.getBoundingClientRect();
          const to = (before: number, by: number, size: number) => Math.max(0, Math.min(100, before - (by / size / (near.zoom - 1)) * 100));
          setNear({ ...near, x: to(near.x, event.movementX, room.width), y: to(near.y, event.movementY, room.height) });
        }}
      >
        <img
          src={address(index)}
          alt={`${picture.title} of ${question.item}, ${plane} slice ${index}`}
          draggable={false}
          style={{ transform: `scale(${near.zoom})`, transformOrigin: `${near.x}% ${near.y}%` }}
        />
        <p class="slice-pane-told">
          {plane} {index} of 0–{count - 1}
          {isMarked ? " · marked" : ""}
        </p>
      </div>
      <div class="slice-pane-tools">
        <label class="slice-pane-slider">
          <span class="hidden-text">{plane} slice</span>
          <input type="range" min={0} max={count - 1} value={index} onInput={(event) => goTo(event.currentTarget.valueAsNumber)} />
        </label>
        <button type="button" onClick={() => mark("first")}>
          First slice{draft.first === null ? "" : `: ${draft.first}`} <kbd>f</kbd>
        </button>
        <button type="button" onClick={() => mark("last")}>
          Last slice{draft.last === null ? "" : `: ${draft.last}`} <kbd>l</kbd>
        </button>
      </div>
      <p class="quiet-text slice-pane-hints">
        <kbd>↑</kbd> <kbd>↓</kbd> or wheel: slices · <kbd>PgUp</kbd> <kbd>PgDn</kbd> by ten · <kbd>Home</kbd> <kbd>End</kbd> · axial slices count
        from 0 at the feet
      </p>
    </div>
  );
}

function next<T>(all: readonly T[], now: T): T {
  return all[(all.indexOf(now) + 1) % all.length] ?? now;
}

function Choice<T extends string>(props: { label: string; all: readonly T[]; value: T; set: (value: T) => void; hint: string }) {
  return (
    <span class="row slice-pane-choice" role="group" aria-label={props.label}>
      {props.all.map((one) => (
        <button key={one} type="button" aria-pressed={one === props.value} onClick={() => props.set(one)}>
          {one}
        </button>
      ))}
      <kbd>{props.hint}</kbd>
    </span>
  );
}
