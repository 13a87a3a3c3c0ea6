// A flat picture of a question: the boxes it speaks of, and boxes that are drawn instead.
import { useEffect, useRef, useState } from "preact/hooks";
import { Stage, type StageBox } from "../stage/Stage";
import type { Rect } from "../stage/viewport";
import type { PaneProps } from "./Evidence";
import { type DraftBox, fitBox, freshId, middleBox } from "./draft";
import { queueApi } from "./types";

const MANY = 4;
const EDGES = ["x1", "y1", "x2", "y2"] as const;
const NAMES = { x1: "left", y1: "top", x2: "right", y2: "bottom" };

export function FilmPane({ build, question, number, picture, draft, change, own, toPanel }: PaneProps) {
  const { width, height } = picture;
  const asked = picture.boxes.filter((box) => box.asked);
  const others = picture.boxes.filter((box) => !box.asked);
  const [regions, setRegions] = useState(others.length > 0 && others.length <= MANY && !asked.length);
  const [chosen, setChosen] = useState<string | null>(null);
  const pane = useRef<HTMLDivElement>(null);
  /** A box that was just added by its key, and is to have the keys. */
  const adding = useRef<string | null>(null);

  const put = (box: DraftBox) => {
    const known = draft.boxes.some((one) => one.id === box.id);
    const boxes = known ? draft.boxes.map((one) => (one.id === box.id ? box : one)) : [...draft.boxes, box];
    change({ boxes });
    setChosen(box.id);
  };
  const draw = (at: Rect, of?: string) => {
    const box = { id: freshId(draft.boxes), ...fitBox(at, width, height) };
    put(of ? { ...box, of } : box);
    return box.id;
  };
  const drop = (id: string) => {
    change({ boxes: draft.boxes.filter((box) => box.id !== id) });
    setChosen(null);
  };
  const add = () => {
    // The box that is asked about is what is most often corrected.
    const only = asked.length === 1 && !draft.boxes.length ? asked[0] : undefined;
    adding.current = draw(only ?? middleBox(width, height));
  };
  useEffect(() => {
    const id = adding.current;
    if (id === null) return;
    adding.current = null;
    pane.current?.querySelector<SVGElement>(`.stage-box[data-box="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
  }, [draft.boxes]);
  /** A shown box that is moved becomes a drawn one; its name goes along where there are several. */
  const moved = (id: string, at: Rect) => {
    const mine = draft.boxes.find((box) => box.id === id);
    if (mine) put({ ...mine, ...fitBox(at, width, height) });
    else {
      const shown = picture.boxes[Number(id.slice("shown-".length))];
      if (shown) draw(at, picture.boxes.length > 1 && shown.label ? shown.label : undefined);
    }
  };

  own.key = (key) => {
    if (key === "b") return add;
    if (key === "g" && others.length) return () => setRegions(!regions);
    if (key === "v") return () => pane.current?.querySelector<HTMLElement>(".stage-surface")?.focus();
    const last = chosen ?? draft.boxes.at(-1)?.id;
    if ((key === "Delete" || key === "Backspace") && last) return () => drop(last);
    return null;
  };

  const boxes: StageBox[] = [
    ...picture.boxes.flatMap((box, at): StageBox[] => {
      if (!box.asked && !regions) return [];
      const shown = { id: `shown-${at}`, ...corners(box), kind: box.asked ? ("reader" as const) : ("plain" as const) };
      return [{ ...shown, label: box.label || "asked about", chosen: chosen === `shown-${at}` }];
    }),
    ...draft.boxes.map((box, at): StageBox => ({
      ...corners(box),
      id: box.id,
      kind: "truth",
      label: draft.boxes.length > 1 ? `yours ${at + 1}` : "yours",
      chosen: chosen === box.id,
    })),
  ];
  return (
    <div class="film-pane" ref={pane}>
      <div class="film-pane-stage">
        <Stage
          src={queueApi(build, "picture", { question: question.id, n: number, asked: question.asked })}
          alt={`${picture.title} of ${question.item}`}
          width={width}
          height={height}
          boxes={boxes}
          tools
          filling
          onChoose={setChosen}
          onDraw={(box) => void draw(box)}
          onChange={moved}
        />
      </div>
      <div class="film-pane-tools">
        <button type="button" onClick={add}>
          {asked.length === 1 && !draft.boxes.length ? "Correct the box" : "Draw a box"} <kbd>b</kbd>
        </button>
        {others.length ? (
          <button type="button" aria-pressed={regions} onClick={() => setRegions(!regions)}>
            {others.length} regions <kbd>g</kbd>
          </button>
        ) : null}
        <span class="quiet-text">
          <kbd>v</kbd> to the picture, <kbd>Esc</kbd> back
        </span>
        {draft.boxes.map((box, at) => (
          <fieldset key={box.id} class="film-pane-edges" data-edges={box.id}>
            <legend>{box.of ?? (draft.boxes.length > 1 ? `Box ${at + 1}` : "Box")}</legend>
            {EDGES.map((edge) => (
              <label key={edge}>
                {NAMES[edge]}
                <input
                  type="number"
                  min={0}
                  max={edge.startsWith("x") ? width : height}
                  value={box[edge]}
                  onFocus={() => setChosen(box.id)}
                  onChange={(event) => put({ ...box, ...fitBox({ ...box, [edge]: event.currentTarget.valueAsNumber }, width, height) })}
                  onKeyDown={(event) => {
                    if (event.key !== "Enter" || event.ctrlKey) return;
                    event.currentTarget.blur(); // what was typed counts
                    toPanel();
                    event.preventDefault();
                  }}
                />
              </label>
            ))}
            <button type="button" onClick={() => drop(box.id)}>
              Remove <kbd>Del</kbd>
            </button>
          </fieldset>
        ))}
      </div>
    </div>
  );
}

function corners({ x1, y1, x2, y2 }: Rect): Rect {
  return { x1, y1, x2, y2 };
}
