// Getting a picture: its bytes, which way up it was stored, or why there is none.
import { useEffect, useState } from "preact/hooks";

export interface Loaded {
  src: string;
  /** A blob's address, once it is there. */
  shown: string | null;
  turn: number;
  problem: string | null;
}

const none = (src: string): Loaded => ({ src, shown: null, turn: 1, problem: null });

/** The picture behind an address (null asks for none). It is fetched, since an <img> cannot tell why it failed. */
export function useLoaded(src: string | null): Loaded {
  const [state, set] = useState<Loaded>(() => none(src ?? ""));
  useEffect(() => {
    if (src === null) return;
    const leaving = new AbortController();
    let made = "";
    const load = async () => {
      try {
        const answer = await fetch(src, { signal: leaving.signal });
        if (!answer.ok) {
          const told = (await answer.json().catch(() => ({}))) as { what?: string };
          set({ ...none(src), problem: told.what ?? `the server answered ${answer.status}` });
          return;
        }
        const bytes = await answer.blob();
        if (leaving.signal.aborted) return;
        made = URL.createObjectURL(bytes);
        const turn = Number(answer.headers.get("x-turned") ?? 1);
        set({ ...none(src), shown: made, turn: turn >= 1 && turn <= 8 ? turn : 1 });
      } catch {
        if (!leaving.signal.aborted) set({ ...none(src), problem: "the server does not answer" });
      }
    };
    void load();
    return () => {
      leaving.abort();
      // Not at once: a picture that is changed quickly may still be about to be decoded.
      if (made) setTimeout(() => URL.revokeObjectURL(made), 10_000);
    };
  }, [src]);
  return state.src === src ? state : none(src ?? "");
}
