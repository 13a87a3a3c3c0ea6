// Keys that are pressed anywhere in the window.
import { useLayoutEffect, useRef } from "preact/hooks";

const TYPING = "input:not([type=radio]):not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true]";

/** Whether keys are meant for a text, so that no shortcut may take them. */
export function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TYPING) !== null;
}

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

/** Shortcuts, as long as nobody is typing; `pressed` returns whether it used the key. */
export function useKeys(pressed: (key: string) => boolean): void {
  useKeydown((event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (pressed(event.key)) event.preventDefault();
  });
}
