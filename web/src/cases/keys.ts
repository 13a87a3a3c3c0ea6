// Keys that work anywhere in a view, as long as nobody is typing.
import { isTyping } from "../kit/typing";
import { useKeydown } from "../kit/useKeydown";

/** `pressed` is told each key; it answers whether the key was for it. */
export function useKeys(pressed: (key: string) => boolean): void {
  useKeydown((event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (pressed(event.key)) event.preventDefault();
  });
}
