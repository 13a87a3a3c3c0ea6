// A volume with findings over it: axial, coronal, sagittal and 3D. Loaded only where it is needed.
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { Field, ErrorBox } from "../kit/kit";
import { NOTICE } from "../kit/notice";
import { useShelf } from "../shelf";
import { FindingList } from "./FindingList";
import { Legend } from "./Legend";
import { Markers, Ruler } from "./Ruler";
import { tileOf } from "./tiling";
import { Choice, LAYOUTS, Sliders, SlabTools, TOOLS, WindowTools } from "./Tools";
import { coloursFrom } from "./colours";
import "./ct.css";
import { useGestures } from "./gestures";
import type { Mode } from "./labels";
import type { Layout, Tool } from "./niivue";
import { huAt } from "./scan";
import { PLANES, type Triple, indexOf, mmOf, placeWords } from "./space";
import { type At, type Row, type LesionFacts, canShow, useLayers, useRows } from "./useMarks";
import { useLarge } from "./useLarge";
import { useScan } from "./useScan";
import { WINDOWS, type Window } from "./windows";

interface CtPaneProps {
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

const LUNG: Window = WINDOWS[0]?.window ?? { centre: -600, width: 1500 };
const MODE_NAMES: Record<Mode, string> = { compare: "Hits and misses", truth: "Truth", prediction: "Prediction" };

export default function CtPane({ dataset, split, case: case_, picture, runs = [], truth, finding }: CtPaneProps) {
  const at: At = [dataset, split, case_, picture];
  const canvas = useRef<HTMLCanvasElement>(null);
  const film = useRef<HTMLDivElement>(null);
  const whole = useRef<HTMLDivElement>(null);
  const [large, setLarge] = useLarge(whole);
  const keys = useId();
  const { viewer, scan, voxel, share, problem } = useScan(canvas, at);
  const [layout, setLayout] = useState<Layout>("axial");
  const [tool, setTool] = useState<Tool>("look");
  const [window_, setWindow] = useState<Window>(LUNG);
  const [slab, setSlab] = useState({ mm: 0, darkest: false });
  const [fill, setFill] = useState(0.35);
  const [outline, setOutline] = useState(true);
  const [run, setRun] = useState(runs[0] ?? "");
  const [wish, setMode] = useState<Mode>("compare");
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [chosen, setChosen] = useState("");
  const [pixels, setPixels] = useState(0);
  const [measured, setMeasured] = useState<number | null>(null);

  const known = useRows(at, run, truth);
  const modes = ([truth && run ? "compare" : "", truth ? "truth" : "", run ? "prediction" : ""] as const).filter((mode) => mode !== "");
  const mode = modes.includes(wish) ? wish : (modes[0] ?? null);
  const shown = useMemo(
    () => new Set(mode ? known.rows.filter((row) => canShow(row, mode) && !hidden.has(row.query)).map((row) => row.query) : []),
    [known.rows, mode, hidden],
  );
  const [chosenQuery, chosenSide, chosenNumber] = chosen.split("/");
  const entity = mode === "truth" && chosenSide === "truth" && chosenQuery !== undefined && shown.has(chosenQuery) ? Number(chosenNumber) : undefined;
  const layers = useLayers(viewer, scan, at, { run, mode: mode ?? "truth", queries: mode ? [...shown] : [], entity });

  useEffect(() => {
    if (!runs.includes(run)) setRun(runs[0] ?? "");
  }, [runs.join(" ")]);
  useEffect(() => {
    if (viewer && film.current) viewer.setStyle({ window: window_, slab: slab.mm, darkest: slab.darkest, fill, outline, colours: coloursFrom(film.current) });
  }, [viewer, window_, slab, fill, outline]);
  useEffect(() => void viewer?.arrange(layout), [viewer, layout]);
  useEffect(() => viewer?.tool(tool), [viewer, tool]);
  useEffect(() => {
    if (!viewer) return;
    viewer.onMeasured = setMeasured;
    viewer.onDrawn = setPixels;
  }, [viewer]);

  const space = scan?.space;
  const go = (to: Triple) => viewer?.go(to);
  const jump = (row: Row, spot: LesionFacts, side: "truth" | "made") => {
    if (!space) return;
    setChosen(`${row.query}/${side}/${spot.number}`);
    setHidden((before) => new Set([...before].filter((query) => query !== row.query)));
    go(indexOf(space, spot.at));
  };
  const spots = known.rows.flatMap((row) => [
    ...(row.truth?.entities ?? []).map((spot) => ({ row, spot, side: "truth" as const })),
    ...(row.truth ? [] : (row.made?.lesions ?? []).map((spot) => ({ row, spot, side: "made" as const }))),
  ]);
  const next = (by: number) => {
    const now = spots.findIndex((one) => `${one.row.query}/${one.side}/${one.spot.number}` === chosen);
    const found = spots[(now + by + spots.length + (now < 0 && by < 0 ? 1 : 0)) % spots.length];
    if (found) jump(found.row, found.spot, found.side);
  };
  const jumped = useRef("");
  useEffect(() => {
    // Once for each finding that is asked for: afterwards whoever looks goes where he likes.
    if (!finding || !space || jumped.current === finding) return;
    const row = known.rows.find((one) => one.query === finding) ?? known.rows[Number(finding)];
    const spot = row && largestLesion(row.truth?.entities ?? row.made?.lesions ?? []);
    if (row && spot) {
      jumped.current = finding;
      jump(row, spot, row.truth ? "truth" : "made");
    }
  }, [finding, space, known.rows]);

  const planes = layout === "3d" ? [] : layout === "planes" || layout === "all" ? PLANES : [layout];
  const gestures = useGestures({
    viewer, canvas, space, voxel, planes, window: window_,
    onWindow: setWindow, onLayout: setLayout, onTool: setTool, onOutline: () => setOutline((on) => !on),
    onFill: () => setFill((before) => (before ? 0 : 0.35)), onNext: next, large, onLarge: setLarge,
  }); // prettier-ignore
  const words = space ? placeWords(mmOf(space, voxel)) : "";
  const hu = scan ? huAt(scan, voxel) : null;
  const names = new Map(useShelf().shelf.runs.map((one) => [one.id, one.name]));

  const stage = (
    <div class="ct-stage">
      <div class="row ct-row">
        <Choice label="Planes" options={LAYOUTS.map((one) => ({ value: one.layout, name: one.name, key: one.key }))} value={layout} onChoose={setLayout} />
        <Choice label="Left mouse button" options={TOOLS.map((one) => ({ value: one.tool, name: one.name, key: one.key }))} value={tool} onChoose={setTool} />
        <div class="ct-choice">
          <button type="button" aria-pressed={large} aria-keyshortcuts="l" onClick={() => setLarge(!large)}>
            Large <kbd aria-hidden="true">l</kbd>
          </button>
        </div>
      </div>
      <div class="row ct-row">
        <WindowTools window={window_} onWindow={setWindow} />
        <SlabTools slab={slab} onSlab={setSlab} />
      </div>
      <div
        class="film ct-film"
        ref={film}
        data-state={problem ? "trouble" : !scan ? "waiting" : share < 1 ? "coarse" : "whole"}
        data-marks={layers.busy ? "waiting" : [...shown].join(" ")}
        onWheelCapture={gestures.wheel}
        onMouseDownCapture={gestures.down}
        onDblClickCapture={(event) => event.stopPropagation()}
        onContextMenuCapture={(event) => event.preventDefault()}
      >
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={describeCanvas(layout, case_, words, [...shown].length, mode)} aria-describedby={keys} />
        {scan ? tileOf(layout, planes).map(({ plane, tile }) => <Markers key={plane} plane={plane} tile={tile} />) : null}
        {pixels > 0 && layout !== "3d" ? <Ruler pixels={pixels} /> : null}
        {!scan && !problem ? (
          <p class="ct-waiting" role="status">
            Loading the scan …
          </p>
        ) : null}
      </div>
      {problem ? <ErrorBox problem={problem} /> : null}
      <div class="row ct-row ct-place">
        <output aria-live="polite" data-voxel={voxel.join(" ")}>
          <strong>{words}</strong> mm, {hu === null ? "–" : `${hu} HU`}
        </output>
        {measured !== null ? (
          <span>
            Measured <strong>{measured.toFixed(1)} mm</strong>{" "}
            <button
              type="button"
              class="quiet"
              onClick={() => {
                viewer?.forgetMeasures();
                setMeasured(null);
              }}
            >
              Clear
            </button>
          </span>
        ) : null}
        <span class="quiet-text" role="status">
          {scan && share < 1 ? `Preview; loading full resolution, ${Math.round(100 * share)} %` : scan && scan.step > 1 ? `Downsampled: 1 of ${scan.step} voxels per axis` : ""}
        </span>
      </div>
      {space ? <Sliders space={space} voxel={voxel} planes={planes} onGo={go} /> : null}
      <p class="quiet-text" id={keys}>
        <kbd>↑</kbd> <kbd>↓</kbd> one slice, <kbd>PgUp</kbd> <kbd>PgDn</kbd> ten, wheel scrolls, <kbd>Ctrl</kbd> wheel or <kbd>+</kbd> <kbd>−</kbd> zooms, <kbd>0</kbd> shows all,
        right drag sets the window, middle drag moves, <kbd>n</kbd> <kbd>b</kbd> next and previous lesion, <kbd>o</kbd> outlines, <kbd>f</kbd> fill, <kbd>l</kbd> large{large ? (
          <>
            {" "}
            and small again, as does <kbd>Esc</kbd>
          </>
        ) : null}
        .
      </p>
    </div>
  );
  // As long as nothing is told beside the scan, it has all the room.
  const beside = runs.length > 0 || mode || known.failed || known.problem || layers.problem;
  const side = (
    <div class="ct-side">
      {runs.length > 0 ? (
        <Field label="Masks from">
          <select value={run} onChange={(event) => setRun(event.currentTarget.value)}>
            {runs.map((one) => (
              <option key={one} value={one}>
                {names.get(one) ?? one}
              </option>
            ))}
            {truth ? <option value="">no run</option> : null}
          </select>
        </Field>
      ) : null}
      {mode ? (
        <>
          <Choice label="Which masks" options={modes.map((one) => ({ value: one, name: MODE_NAMES[one] }))} value={mode} onChoose={setMode} />
          <div class="row ct-row">
            <label>
              <input type="checkbox" checked={outline} onChange={(event) => setOutline(event.currentTarget.checked)} /> Outline <kbd>o</kbd>
            </label>
            <label class="ct-number">
              Fill <kbd>f</kbd>
              <input type="range" min="0" max="1" step="0.05" value={fill} onInput={(event) => setFill(event.currentTarget.valueAsNumber)} />
            </label>
          </div>
          <Legend mode={mode} chosen={entity !== undefined} />
        </>
      ) : null}
      {known.failed ? <p class="quiet-text">{known.failed}</p> : null}
      {known.problem ? <ErrorBox problem={known.problem} /> : null}
      {layers.problem ? <ErrorBox problem={layers.problem} /> : null}
      {mode ? (
        <FindingList
          at={at}
          rows={known.rows}
          run={run}
          mode={mode}
          shown={shown}
          chosen={chosen}
          onJump={jump}
          onShown={(query, on) => setHidden((before) => (on ? new Set([...before].filter((one) => one !== query)) : new Set([...before, query])))}
        />
      ) : null}
    </div>
  );
  return (
    <div class={`ct${large ? " large" : ""}`} ref={whole} onKeyDown={gestures.key}>
      <div class={`ct-parts${beside ? "" : " alone"}`}>
        {stage}
        {beside ? side : null}
      </div>
      {large ? <p class="ct-notice">{NOTICE}</p> : null}
    </div>
  );
}

function largestLesion(spots: readonly LesionFacts[]): LesionFacts | undefined {
  return spots.reduce<LesionFacts | undefined>((best, spot) => (best && best.voxels >= spot.voxels ? best : spot), undefined);
}

/** What the canvas shows, for those who cannot see it. */
function describeCanvas(layout: Layout, case_: string, words: string, marks: number, mode: Mode | null): string {
  const name = LAYOUTS.find((one) => one.layout === layout)?.name ?? layout;
  const over = mode && marks ? `; ${MODE_NAMES[mode].toLowerCase()} of ${marks} finding${marks === 1 ? "" : "s"} over it` : "";
  return `CT of ${case_}: ${name.toLowerCase()}, crosshair at ${words || "–"}; the patient's right is on the left${over}`;
}
