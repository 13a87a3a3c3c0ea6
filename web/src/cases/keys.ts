// Keys that work anywhere in a view, as long as nobody is typing.
import { useEffect, useRef } from "preact/hooks";
import { isTyping } from "../kit/typing";

/** `pressed` is told each key; it answers whether the key was for it. */
export function useKeys(pressed: (key: string) => boolean): void {
  const latest = useRef(pressed);
  latest.current = pressed;
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (latest.current(event.key)) event.preventDefault();
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}
