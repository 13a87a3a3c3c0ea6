// Keys that are pressed anywhere in the window.
import { useLayoutEffect, useRef } from "preact/hooks";

/** Listens before the view is first seen, so that no key is lost, and to the newest `pressed`. */
export function useKeydown(pressed: (event: KeyboardEvent) => void): void {
  const latest = useRef(pressed);
  latest.current = pressed;
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => latest.current(event);
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}
