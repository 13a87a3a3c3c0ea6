// Window and level: which greys become black and white.
export interface WindowLevel {
  /** What becomes black, 0 to 255 of the picture as it is sent. */
  low: number;
  /** What becomes white. */
  high: number;
  inverted: boolean;
}

export const AS_STORED: WindowLevel = { low: 0, high: 255, inverted: false };

export const PRESETS: { id: string; title: string; low: number; high: number }[] = [
  { id: "stored", title: "as stored", low: 0, high: 255 },
  { id: "contrast", title: "high contrast", low: 64, high: 191 },
  { id: "lung", title: "dark parts (lung)", low: 0, high: 140 },
  { id: "middle", title: "middle greys (soft tissue)", low: 80, high: 176 },
  { id: "bone", title: "bright parts (bone)", low: 115, high: 255 },
];

/** The preset that a look is, or an empty word. */
export function presetOf(windowLevel: WindowLevel): string {
  return PRESETS.find((one) => one.low === windowLevel.low && one.high === windowLevel.high)?.id ?? "";
}

export function nextPreset(windowLevel: WindowLevel): WindowLevel {
  const at = PRESETS.findIndex((one) => one.id === presetOf(windowLevel));
  const next = PRESETS[(at + 1) % PRESETS.length] ?? AS_STORED;
  return { low: next.low, high: next.high, inverted: windowLevel.inverted };
}

const NARROWEST = 0.25;

/**
 * Another window: `wider` steps more between black and white, `brighter` steps of the level. A step
 * is a grey, and less where the window is narrow, as one wants it in pictures of many bits.
 */
export function changeWindow(windowLevel: WindowLevel, wider: number, brighter: number): WindowLevel {
  const before = windowLevel.high - windowLevel.low;
  const step = Math.min(1, before / 255);
  const width = Math.min(1020, Math.max(NARROWEST, before + wider * step));
  const level = Math.min(382, Math.max(-127, (windowLevel.low + windowLevel.high) / 2 - brighter * step));
  return { ...windowLevel, low: level - width / 2, high: level + width / 2 };
}

/** Slope and intercept, on 0 to 1, that show the look. */
export function toLinear(windowLevel: WindowLevel): { slope: number; intercept: number } {
  const slope = 255 / (windowLevel.high - windowLevel.low);
  const intercept = -windowLevel.low / (windowLevel.high - windowLevel.low);
  return windowLevel.inverted ? { slope: -slope, intercept: 1 - intercept } : { slope, intercept };
}

export function isAsStored(windowLevel: WindowLevel): boolean {
  return !windowLevel.inverted && windowLevel.low === 0 && windowLevel.high === 255;
}

export function windowText(windowLevel: WindowLevel): string {
  const level = Math.round((windowLevel.low + windowLevel.high) / 2);
  return `W ${Math.round(windowLevel.high - windowLevel.low)} L ${level}${windowLevel.inverted ? " inverted" : ""}`;
}
