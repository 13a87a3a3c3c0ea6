// Getting a picture: its bytes, which way up it was stored, or why there is none.
import { useEffect, useState } from "preact/hooks";
import { request, toApiError } from "../api/client";

interface LoadedPicture {
  src: string;
  /** A blob's address, once it is there. */
  url: string | null;
  turn: number;
  problem: string | null;
}

const none = (src: string): LoadedPicture => ({ src, url: null, turn: 1, problem: null });

/** The picture behind an address (null asks for none). It is fetched, since an <img> cannot tell why it failed. */
export function useLoaded(src: string | null): LoadedPicture {
  const [state, set] = useState<LoadedPicture>(() => none(src ?? ""));
  useEffect(() => {
    if (src === null) return;
    const leaving = new AbortController();
    let made = "";
    const load = async () => {
      try {
        const answer = await request(src, { signal: leaving.signal });
        const bytes = await answer.blob();
        if (leaving.signal.aborted) return;
        made = URL.createObjectURL(bytes);
        const turn = Number(answer.headers.get("x-turned") ?? 1);
        set({ ...none(src), url: made, turn: turn >= 1 && turn <= 8 ? turn : 1 });
      } catch (error) {
        if (!leaving.signal.aborted) set({ ...none(src), problem: toApiError(error).message });
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
