// Mouse and keys over the scan: scrolling, windowing, zooming, and the shortcuts that stand below it.
import type { RefObject } from "preact";
import { isTyping, useKeydown } from "../kit/keys";
import { LAYOUTS, TOOLS } from "./Tools";
import type { Layout, Tool, Viewer } from "./niivue";
import { AXIS, type Plane, type Space, type Triple } from "./space";
import { WINDOWS, type Window, dragWindow } from "./windows";

interface Gestures {
  viewer: Viewer | null;
  canvas: RefObject<HTMLCanvasElement>;
  space: Space | undefined;
  voxel: Triple;
  planes: readonly Plane[];
  window: Window;
  onWindow: (window: Window) => void;
  onLayout: (layout: Layout) => void;
  onTool: (tool: Tool) => void;
  onOutline: () => void;
  onFill: () => void;
  onNext: (by: number) => void;
  large: boolean;
  onLarge: (on: boolean) => void;
}

const STEPS: Record<string, number> = { ArrowUp: 1, ArrowDown: -1, ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
const LINE = 40;
/** Pixels of a wheel that make one slice; a notch of most mice is more than that. */

export function useGestures(now: Gestures) {
  const scroll = (plane: Plane, by: number) => {
    const { viewer, space } = now;
    if (!viewer || !space) return;
    const moved: [number, number, number] = [...viewer.voxel()];
    moved[AXIS[plane]] += by;
    viewer.go(moved);
  };
  const wheel = (event: WheelEvent) => {
    const box = now.canvas.current?.getBoundingClientRect();
    if (!box || !now.viewer || event.target !== now.canvas.current) return;
    const plane = now.viewer.planeAt(event.clientX - box.left, event.clientY - box.top);
    if (!plane) return; // over the 3D view NiiVue zooms
    event.preventDefault();
    event.stopPropagation();
    const lines = event.deltaMode === 1 ? event.deltaY / 3 : event.deltaY / LINE;
    if (event.ctrlKey || event.metaKey) now.viewer.zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15);
    else if (event.deltaY) scroll(plane, -Math.sign(lines) * Math.max(1, Math.min(10, Math.round(Math.abs(lines)) > 3 ? 2 : 1)));
  };
  const down = (event: MouseEvent) => {
    now.canvas.current?.focus({ preventScroll: true });
    if (event.button !== 2) return;
    event.preventDefault();
    event.stopPropagation();
    const start = now.window;
    const from = [event.clientX, event.clientY] as const;
    const move = (moved: MouseEvent) => now.onWindow(dragWindow(start, moved.clientX - from[0], moved.clientY - from[1]));
    const up = () => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", up);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up);
  };
  const key = (event: KeyboardEvent) => {
    const { viewer, space, planes } = now;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" ? !now.large : isTyping(event.target)) return;
    // One must get out of it, whatever has the focus and whether or not there is a scan.
    if (event.key === "l" || event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      now.onLarge(!now.large);
      return;
    }
    // Arrows and the like belong to a slider, if that has the focus.
    const slider = event.target instanceof Element && event.target.matches("input[type=range]");
    if (!viewer || !space || (slider && event.key.length > 1)) return;
    const plane = planes[0];
    const layout = LAYOUTS.find((one) => one.key === event.key)?.layout;
    const tool = TOOLS.find((one) => one.key === event.key)?.tool;
    const preset = WINDOWS.find((one) => one.key === event.key)?.window;
    const by = STEPS[event.key];
    if (by !== undefined && plane) scroll(plane, by);
    else if (event.key === "Home" && plane) scroll(plane, -space.shape[AXIS[plane]]);
    else if (event.key === "End" && plane) scroll(plane, space.shape[AXIS[plane]]);
    else if (layout) now.onLayout(layout);
    else if (tool) now.onTool(tool);
    else if (preset) now.onWindow(preset);
    else if (event.key === "o") now.onOutline();
    else if (event.key === "f") now.onFill();
    else if (event.key === "n") now.onNext(1);
    else if (event.key === "b") now.onNext(-1);
    else if (event.key === "+" || event.key === "=") viewer.zoom(1.25);
    else if (event.key === "-") viewer.zoom(1 / 1.25);
    else if (event.key === "0") viewer.zoom(0);
    else return;
    event.preventDefault();
    event.stopPropagation(); // NiiVue has keys of its own
  };
  usePageKeys(key);
  return { wheel, down, key };
}

/**
 * The keys stand on the screen, so they work wherever the focus is, but in the scan that is there
 * first; arrows and the like belong to whatever has the focus, if anything has.
 */
function usePageKeys(key: (event: KeyboardEvent) => void): void {
  useKeydown((event) => {
    const at = event.target instanceof Element ? event.target : null;
    if (event.defaultPrevented || at?.closest(".ct, dialog, [contenteditable=true]")) return;
    // A new view has the focus as a whole.
    const free = at === document.body || at?.tagName === "MAIN" || event.key === "Escape";
    if (event.key.length > 1 && !free) return;
    key(event);
  });
}
