// The tools of the stage, each with its key.
import { PRESETS, type WindowLevel, nextPreset, presetOf } from "./window_level";

export type Mode = "move" | "window" | "mark";

interface ToolbarProps {
  mode: Mode;
  /** `byKeys` where the button was pressed without a pointer. */
  onMode: (mode: Mode, byKeys?: boolean) => void;
  windowLevel: WindowLevel;
  onWindowLevel: (windowLevel: WindowLevel) => void;
  onZoom: (factor: number) => void;
  onFit: () => void;
  onActual: () => void;
  /** Whether boxes may be drawn here. */
  marks: boolean;
}

export function Toolbar({ mode, onMode, windowLevel, onWindowLevel, onZoom, onFit, onActual, marks }: ToolbarProps) {
  const preset = presetOf(windowLevel);
  const choose = (id: string) => {
    const found = PRESETS.find((one) => one.id === id);
    if (found) onWindowLevel({ low: found.low, high: found.high, inverted: windowLevel.inverted });
  };
  const pick = (own: Mode) => ({
    type: "button" as const,
    "aria-pressed": mode === own,
    onClick: (event: MouseEvent) => onMode(mode === own ? "move" : own, event.detail === 0),
  });
  return (
    <div class="stage-tools" role="toolbar" aria-label="Picture tools">
      <span class="stage-group">
        <button type="button" title="Zoom out" aria-label="Zoom out" onClick={() => onZoom(1 / 1.25)}>
          <kbd>−</kbd>
        </button>
        <button type="button" title="Zoom in (or use the wheel)" aria-label="Zoom in" onClick={() => onZoom(1.25)}>
          <kbd>+</kbd>
        </button>
        <button type="button" title="All of the picture (or a double click)" onClick={onFit}>
          Fit <kbd>0</kbd>
        </button>
        <button type="button" title="One pixel of the picture is one of the screen" onClick={onActual}>
          1:1 <kbd>1</kbd>
        </button>
      </span>
      <span class="stage-group">
        <button {...pick("window")} title="Drag: right for a wider window, up for a brighter picture (or drag with the right button)">
          Window
        </button>
        <select aria-label="Window preset" title="Next preset: w" value={preset} onChange={(event) => choose(event.currentTarget.value)}>
          {preset ? null : <option value="">own window</option>}
          {PRESETS.map((one) => (
            <option key={one.id} value={one.id}>
              {one.title}
            </option>
          ))}
        </select>
        <button type="button" aria-label="Next window preset" title="Next window preset" onClick={() => onWindowLevel(nextPreset(windowLevel))}>
          <kbd>w</kbd>
        </button>
        <button type="button" aria-pressed={windowLevel.inverted} onClick={() => onWindowLevel({ ...windowLevel, inverted: !windowLevel.inverted })}>
          Invert <kbd>i</kbd>
        </button>
      </span>
      {marks ? (
        <span class="stage-group">
          <button {...pick("mark")} title="Drag on the picture; or press m, then arrows, Shift and arrows, Enter">
            Mark a box <kbd>m</kbd>
          </button>
        </span>
      ) : null}
    </div>
  );
}

/** Which keys work now. */
export function KeyHints({ mode, changes, drawing }: { mode: Mode; changes: boolean; drawing: boolean }) {
  if (drawing || mode === "mark")
    return (
      <p class="stage-hints">
        Drag to draw, or <kbd>arrows</kbd> move, <kbd>Shift</kbd>+<kbd>arrows</kbd> resize, <kbd>Enter</kbd> saves, <kbd>Esc</kbd> discards the box.
      </p>
    );
  return (
    <p class="stage-hints">
      <kbd>wheel</kbd> zoom · drag or <kbd>arrows</kbd> move · <kbd>[</kbd> <kbd>]</kbd> contrast · <kbd>,</kbd> <kbd>.</kbd> brightness
      {changes ? (
        <>
          {" "}
          · on a box: <kbd>arrows</kbd> move, <kbd>Shift</kbd>+<kbd>arrows</kbd> resize
        </>
      ) : null}
    </p>
  );
}
