// What can be set about the scan: planes, window, slab, tools, and a slider for each plane.
import type { Layout, Tool } from "./niivue";
import { AXIS, PLANES, type Plane, type Space, type Triple } from "./space";
import { WINDOWS, type Window, clampWindow, sameWindow } from "./windows";

export const LAYOUTS: readonly { layout: Layout; name: string; key: string }[] = [
  { layout: "axial", name: "Axial", key: "a" },
  { layout: "coronal", name: "Coronal", key: "c" },
  { layout: "sagittal", name: "Sagittal", key: "s" },
  { layout: "planes", name: "Three planes", key: "p" },
  { layout: "all", name: "Planes and 3D", key: "g" },
  { layout: "3d", name: "3D", key: "d" },
];
export const TOOLS: readonly { tool: Tool; name: string; key: string }[] = [
  { tool: "look", name: "Crosshair", key: "x" },
  { tool: "measure", name: "Measure", key: "m" },
  { tool: "pan", name: "Move", key: "v" },
];

export function Choice<T extends string>({
  label,
  options,
  value,
  onChoose,
}: {
  label: string;
  options: readonly { value: T; name: string; key?: string }[];
  value: T | null;
  onChoose: (value: T) => void;
}) {
  return (
    <div class="ct-choice" role="group" aria-label={label}>
      {options.map((one) => (
        <button key={one.value} type="button" aria-pressed={one.value === value} onClick={() => onChoose(one.value)} aria-keyshortcuts={one.key}>
          {one.name} {one.key ? <kbd aria-hidden="true">{one.key}</kbd> : null}
        </button>
      ))}
    </div>
  );
}

interface SlabSetting {
  mm: number;
  darkest: boolean;
}

export function WindowTools({ window, onWindow }: { window: Window; onWindow: (window: Window) => void }) {
  const chosen = WINDOWS.find((one) => sameWindow(one.window, window))?.name ?? null;
  return (
    <>
      <Choice
        label="Window"
        options={WINDOWS.map((one) => ({ value: one.name, name: one.name, key: one.key }))}
        value={chosen}
        onChoose={(name) => {
          const found = WINDOWS.find((one) => one.name === name);
          if (found) onWindow(found.window);
        }}
      />
      <label class="ct-number">
        Centre
        <input type="number" step="10" value={window.centre} onChange={(event) => onWindow(clampWindow({ ...window, centre: event.currentTarget.valueAsNumber }))} />
      </label>
      <label class="ct-number">
        Width
        <input type="number" step="10" min="1" value={window.width} onChange={(event) => onWindow(clampWindow({ ...window, width: event.currentTarget.valueAsNumber }))} />
      </label>
    </>
  );
}

export function SlabTools({ slab, onSlab }: { slab: SlabSetting; onSlab: (slab: SlabSetting) => void }) {
  return (
    <>
      <label class="ct-number">
        Slab
        <select
          value={slab.mm ? (slab.darkest ? "min" : "max") : "off"}
          onChange={(event) => {
            const how = event.currentTarget.value;
            onSlab({ mm: how === "off" ? 0 : slab.mm || 10, darkest: how === "min" });
          }}
        >
          <option value="off">one slice</option>
          <option value="max">brightest (MIP)</option>
          <option value="min">darkest (MinIP)</option>
        </select>
      </label>
      {slab.mm ? (
        <label class="ct-number">
          Thickness
          <input
            type="range"
            min="2"
            max="60"
            step="1"
            value={slab.mm}
            onInput={(event) => onSlab({ ...slab, mm: event.currentTarget.valueAsNumber })}
          />
          <output>{slab.mm} mm</output>
        </label>
      ) : null}
    </>
  );
}

/** Where each plane cuts, as a slider and in words. */
export function Sliders({ space, voxel, planes, onGo }: { space: Space; voxel: Triple; planes: readonly Plane[]; onGo: (voxel: Triple) => void }) {
  return (
    <div class="ct-sliders">
      {PLANES.filter((plane) => planes.includes(plane)).map((plane) => {
        const axis = AXIS[plane];
        return (
          <label key={plane} class="ct-slider">
            <span>{plane}</span>
            <input
              type="range"
              min="0"
              max={space.shape[axis] - 1}
              value={voxel[axis]}
              aria-label={`${plane} slice`}
              onInput={(event) => {
                const moved: [number, number, number] = [...voxel];
                moved[axis] = event.currentTarget.valueAsNumber;
                onGo(moved);
              }}
            />
            <output>
              {voxel[axis] + 1} / {space.shape[axis]}
            </output>
          </label>
        );
      })}
    </div>
  );
}
