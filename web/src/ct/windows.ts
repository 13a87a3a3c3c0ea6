// HU windows: centre and width, as radiologists name them.
export interface Window {
  centre: number;
  width: number;
}

export const WINDOWS: readonly { name: string; key: string; window: Window }[] = [
  { name: "Lung", key: "1", window: { centre: -600, width: 1500 } },
  { name: "Mediastinum", key: "2", window: { centre: 40, width: 400 } },
  { name: "Bone", key: "3", window: { centre: 400, width: 1800 } },
  { name: "Liver", key: "4", window: { centre: 60, width: 160 } },
  { name: "Brain", key: "5", window: { centre: 40, width: 80 } },
  { name: "Whole range", key: "6", window: { centre: 512, width: 3072 } },
];

/** A window after dragging: to the right wider, down darker-looking (a higher centre). */
export function dragWindow(window: Window, right: number, down: number): Window {
  const pace = Math.max(1, window.width / 400);
  return clampWindow({ centre: window.centre + down * pace, width: window.width + right * pace });
}

export function clampWindow(window: Window): Window {
  const round = (value: number, low: number, high: number) => Math.round(Math.min(high, Math.max(low, Number.isFinite(value) ? value : low)));
  return { centre: round(window.centre, -32768, 32767), width: round(window.width, 1, 65535) };
}

export function sameWindow(a: Window, b: Window): boolean {
  return a.centre === b.centre && a.width === b.width;
}
