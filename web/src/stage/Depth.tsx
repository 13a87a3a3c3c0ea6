// Greys of more than 8 bits: windowed here from the real values, once the window is changed.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { WindowLevel } from "./window_level";

/** value = base + step × number; low to high is what the 8-bit picture shows. */
interface Values {
  numbers: Uint16Array;
  width: number;
  height: number;
  base: number;
  step: number;
  low: number;
  high: number;
  inverted: boolean;
}

/** The values behind an address (null asks for none); null while they come, or where they do not. */
export function useValues(src: string | null): Values | null {
  const [kept, set] = useState<{ src: string; values: Values } | null>(null);
  useEffect(() => {
    if (src === null || kept?.src === src) return;
    const leaving = new AbortController();
    const load = async () => {
      const answer = await fetch(src, { signal: leaving.signal });
      const bytes = answer.ok ? await answer.arrayBuffer() : null;
      const values = bytes ? parseValues(bytes, answer.headers) : null;
      if (values && !leaving.signal.aborted) set({ src, values });
    };
    load().catch(() => undefined); // the 8-bit picture stays, with its own window
    return () => leaving.abort();
  }, [src]);
  return kept !== null && kept.src === src ? kept.values : null;
}

export function parseValues(bytes: ArrayBuffer, headers: Headers): Values | null {
  const header = (name: string) => Number(headers.get(`x-${name}`) ?? NaN);
  const [width, height, base, step, low, high] = ["width", "height", "base", "step", "low", "high"].map(header) as [number, number, number, number, number, number];
  const sound = [width, height, base, step, low, high].every(Number.isFinite) && high > low;
  if (!sound || bytes.byteLength !== 2 * width * height) return null;
  return { numbers: new Uint16Array(bytes), width, height, base, step, low, high, inverted: header("inverted") === 1 };
}

/** What a grey of the 8-bit picture, 0 to 255 or beyond, is as a value. */
export function valueOf(grey: number, values: Values): number {
  const share = grey / 255;
  return values.low + (values.inverted ? 1 - share : share) * (values.high - values.low);
}

/** Number → grey, for all 65,536. */
export function greyTable(windowLevel: WindowLevel, values: Values): Uint8ClampedArray {
  const black = valueOf(windowLevel.low, values);
  const white = valueOf(windowLevel.high, values);
  const made = new Uint8ClampedArray(65536);
  for (let number = 0; number < 65536; number++) {
    const grey = (255 * (values.base + values.step * number - black)) / (white - black);
    made[number] = windowLevel.inverted ? 255 - grey : grey;
  }
  return made;
}

/** The window in the picture's own values. */
export function deepText(windowLevel: WindowLevel, values: Values): string {
  const [a, b] = [valueOf(windowLevel.low, values), valueOf(windowLevel.high, values)];
  const digits = Math.abs(b - a) < 10 ? 2 : 0;
  return `W ${Math.abs(b - a).toFixed(digits)} L ${((a + b) / 2).toFixed(digits)}${windowLevel.inverted ? " inverted" : ""} (values)`;
}

export function DepthCanvas({ values, windowLevel: windowLevel, alt, class: name, style }: { values: Values; windowLevel: WindowLevel; alt: string; class: string; style: Record<string, string> }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const image = useRef<ImageData | null>(null);
  useLayoutEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen) return;
    const { numbers, width, height } = values;
    if (image.current?.width !== width || image.current.height !== height) image.current = pen.createImageData(width, height);
    const greys = greyTable(windowLevel, values);
    const points = new Uint32Array(image.current.data.buffer);
    for (let at = 0; at < numbers.length; at++) points[at] = 0xff000000 | ((greys[numbers[at] ?? 0] ?? 0) * 0x010101);
    pen.putImageData(image.current, 0, 0);
  }, [values, windowLevel.low, windowLevel.high, windowLevel.inverted]);
  return <canvas ref={canvas} class={name} style={style} role="img" aria-label={alt} width={values.width} height={values.height} />;
}
