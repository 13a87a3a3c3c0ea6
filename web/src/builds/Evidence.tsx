// The pictures of a question: films on which boxes are drawn, scans on which slices are marked.
import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import { FilmPane } from "./FilmPane";
import { SlicePane } from "./SlicePane";
import type { Draft } from "./draft";
import type { OpenQuestion } from "./types";

/** What keys do on the evidence, while the question has them. */
export interface EvidenceKeys {
  key: (key: string) => (() => void) | null;
}

interface EvidenceProps {
  build: string;
  question: OpenQuestion;
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  keys: RefObject<EvidenceKeys | null>;
  /** Give the keys back to the question. */
  toPanel: () => void;
}

export function Evidence(props: EvidenceProps) {
  const { question, change, keys, toPanel } = props;
  const [at, setAt] = useState(0);
  const picture = question.pictures[at];
  const count = question.pictures.length;
  const own: EvidenceKeys = { key: () => null };
  keys.current = {
    key: (key) => {
      if (key === "x") return () => change({ boxes: [], first: null, last: null, rest: {} });
      if (count > 1 && key === "ArrowRight") return () => setAt((at + 1) % count);
      if (count > 1 && key === "ArrowLeft") return () => setAt((at + count - 1) % count);
      return own.key(key);
    },
  };
  if (!picture) return null;
  const pane = { ...props, number: at, picture, own };
  return (
    <div
      class="evidence"
      onPointerUp={(event) => {
        // Whoever used the mouse goes on with the question's keys.
        if (!(event.target instanceof Element) || event.target.closest("input, select, textarea, label")) return;
        requestAnimationFrame(toPanel);
      }}
    >
      {count > 1 ? (
        <div class="row evidence-tabs" role="group" aria-label="Pictures">
          {question.pictures.map((one, number) => (
            <button key={number} type="button" aria-pressed={number === at} onClick={() => setAt(number)}>
              {one.title}
            </button>
          ))}
          <span class="quiet-text">
            <kbd>←</kbd> <kbd>→</kbd>
          </span>
        </div>
      ) : null}
      {picture.kind === "flat" ? (
        <FilmPane key={at} {...pane} />
      ) : picture.kind === "volume" ? (
        <SlicePane key={at} {...pane} />
      ) : (
        <p class="sheet evidence-none">
          {picture.title}: {picture.problem || "it cannot be shown"}.
        </p>
      )}
    </div>
  );
}

export interface PaneProps extends EvidenceProps {
  number: number;
  picture: OpenQuestion["pictures"][number];
  /** Where the pane says what its keys do. */
  own: EvidenceKeys;
}
