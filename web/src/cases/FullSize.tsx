// One picture, or two side by side, over the whole window.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { NOTICE } from "../kit/notice";
import { Stage, type StageProps } from "../stage/Stage";
import { AS_STORED } from "../stage/window_level";
import { WHOLE_PICTURE } from "../stage/viewport";
import type { CasePicture } from "./CaseView";
import { Caption } from "./Films";
import { useKeys } from "../kit/keys";
import type { CaseTruth } from "./marks";

interface FullSizeProps {
  pictures: CasePicture[];
  stageOf: (picture: CasePicture) => StageProps;
  open: string;
  onOpen: (name: string | null) => void;
  truth: CaseTruth | null;
  /** The words of the finding that boxes belong to. */
  note: ComponentChildren;
}

export function FullSize({ pictures, stageOf, open, onOpen, truth, note }: FullSizeProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [beside, setBeside] = useState("");
  const [together, setTogether] = useState(true);
  const [viewport, setViewport] = useState(WHOLE_PICTURE);
  const [windowLevel, setWindowLevel] = useState(AS_STORED);
  const at = Math.max(
    0,
    pictures.findIndex((one) => one.name === open),
  );
  const shown = pictures[at];
  const second = pictures.find((one) => one.name === beside && one.name !== open);
  useEffect(() => {
    const own = dialog.current;
    // jsdom has no modal dialogs.
    if (own && !own.open) own.showModal?.();
    own?.querySelector<HTMLElement>(".stage-surface")?.focus();
  }, []);
  const step = (by: number) => {
    const next = pictures[(at + by + pictures.length) % pictures.length];
    if (next) onOpen(next.name);
    setViewport(WHOLE_PICTURE);
  };
  useKeys((key) => {
    if (key === "n" || key === "PageDown") step(1);
    else if (key === "p" || key === "PageUp") step(-1);
    else if (key === "f") onOpen(null);
    else return false;
    return true;
  });
  if (!shown) return null;
  const linked = second && together ? { viewport, onViewport: setViewport, windowLevel, onWindowLevel: setWindowLevel } : {};
  return (
    <dialog
      ref={dialog}
      class="case-full"
      aria-label={`${open} full size`}
      onCancel={(event) => {
        event.preventDefault();
        onOpen(null);
      }}
    >
      <div class="row case-full-head">
        <strong>{shown.name}</strong>
        <span class="quiet-text">
          {at + 1} of {pictures.length}
          {shown.timepoint === null ? "" : ` · time point ${shown.timepoint}`}
        </span>
        {pictures.length > 1 ? (
          <>
            <button type="button" onClick={() => step(-1)}>
              Previous <kbd>p</kbd>
            </button>
            <button type="button" onClick={() => step(1)}>
              Next <kbd>n</kbd>
            </button>
            <label class="row">
              <span class="quiet-text">Compare with</span>
              <select value={second ? beside : ""} onChange={(event) => setBeside(event.currentTarget.value)}>
                <option value="">none</option>
                {pictures
                  .filter((one) => one.name !== open)
                  .map((one) => (
                    <option key={one.name} value={one.name}>
                      {one.name}
                      {one.timepoint === null ? "" : ` (time point ${one.timepoint})`}
                    </option>
                  ))}
              </select>
            </label>
          </>
        ) : null}
        {second ? (
          <label>
            <input type="checkbox" checked={together} onChange={(event) => setTogether(event.currentTarget.checked)} /> Move together
          </label>
        ) : null}
        <button type="button" class="case-full-close" onClick={() => onOpen(null)}>
          Close <kbd>Esc</kbd>
        </button>
      </div>
      <div class="case-full-films">
        {[shown, ...(second ? [second] : [])].map((picture) => (
          <div key={picture.name} class="case-full-film">
            <Stage {...stageOf(picture)} {...linked} tools filling />
            <Caption picture={picture.name} truth={truth} />
          </div>
        ))}
      </div>
      {note ?? <span />}
      <p class="case-full-notice">{NOTICE}</p>
    </dialog>
  );
}
