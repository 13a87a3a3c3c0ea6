// How large an element is on the screen, and again whenever that changes.
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

export interface Size {
  width: number;
  height: number;
}

/** The size of an element; `usual` before it is known. */
export function useSize(ref: RefObject<HTMLElement>, usual: Size): { room: Size; known: boolean } {
  const [room, set] = useState<Size | null>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => {
      const now = { width: element.clientWidth, height: element.clientHeight };
      if (now.width > 0 && now.height > 0) set((old) => (old?.width === now.width && old.height === now.height ? old : now));
    };
    measure();
    if (typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { room: room ?? usual, known: room !== null };
}
