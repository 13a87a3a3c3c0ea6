// The scan over the whole window, where it stands: moving a canvas would cost its WebGL and the scan.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Who goes through scans one after the other keeps the next one as large as the last. */
let kept = false;

export function useLarge(element: RefObject<HTMLElement>): [boolean, (on: boolean) => void] {
  const [large, setLarge] = useState(kept);
  useEffect(() => {
    const own = element.current;
    if (!large || !own) return;
    own.popover = "manual"; // lays it over everything, whatever it stands in
    own.showPopover?.(); // jsdom has none
    const covered = around(own);
    for (const one of covered) one.inert = true;
    return () => {
      own.removeAttribute("popover");
      for (const one of covered) one.inert = false;
    };
  }, [large]);
  const set = (on: boolean) => {
    kept = on;
    setLarge(on);
  };
  return [large, set];
}

/** Everything that could be reached outside of an element. */
function around(element: HTMLElement): HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let at = element; at !== document.body && at.parentElement; at = at.parentElement)
    for (const one of at.parentElement.children) if (one !== at && one instanceof HTMLElement && !one.inert) found.push(one);
  return found;
}
