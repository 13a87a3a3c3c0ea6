// Keys of the view of a reading; a field that is being typed into keeps its own.
import { useKeydown } from "../kit/keys";

export type Move = "down" | "up" | "open" | "truth" | "verdicts" | "close" | "next" | "previous";

const KEYS: Record<string, Move> = {
  ArrowDown: "down",
  j: "down",
  ArrowUp: "up",
  k: "up",
  Enter: "open",
  t: "truth",
  v: "verdicts",
  z: "close",
  n: "next",
  p: "previous",
};

/** What a key means here; null where it belongs to somebody else. */
export function moveOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "defaultPrevented" | "target">): Move | null {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return null;
  const move = KEYS[event.key] ?? null;
  const at = event.target instanceof Element ? event.target : null;
  if (at?.closest("input:not([type=checkbox]), textarea, select, [contenteditable], [role=tablist], [role=application]")) return null;
  // Long words scroll by the arrows.
  if (event.key.startsWith("Arrow") && at?.closest("pre")) return null;
  // Enter on a button presses it.
  if (move === "open" && at?.closest("button, a, summary, input")) return null;
  return move;
}

export function useMoveKeys(act: (move: Move) => void): void {
  useKeydown((event) => {
    const move = moveOf(event);
    if (!move) return;
    event.preventDefault();
    act(move);
  });
}
