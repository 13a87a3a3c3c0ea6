// A grid of thousands of cards of which only those in sight are drawn.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Size, useSize } from "../kit/useSize";
import { visibleRows, moveByKey, scrollToRow, shapeOf } from "../kit/windowing";

const NARROWEST = 168;
const GAP = 12;
const CARD = 236;
const PITCH = CARD + GAP;

/** Where somebody was in a grid when they left it, by its address; gone when the page is closed. */
const left = new Map<string, { top: number; at: number }>();

export interface CardProps {
  /** Where the card stands among those shown. */
  place: number;
  tabIndex: number;
}

interface GridProps {
  label: string;
  /** What is shown, in order. */
  items: number[];
  /** Names this grid: coming back to it leads to where it was left. */
  name: string;
  draw: (item: number, card: CardProps) => ComponentChildren;
  /** For tests, where nothing has a size. */
  size?: Size;
}

export function Grid({ label, items, name, draw, size: given }: GridProps) {
  const pane = useRef<HTMLDivElement>(null);
  const { room: size } = useSize(pane, given ?? { width: 0, height: 0 });
  const [top, setTop] = useState(() => left.get(name)?.top ?? 0);
  const [active, setActive] = useState(() => left.get(name)?.at ?? 0);
  const [held, setHeld] = useState(false);
  const wanted = useRef(left.has(name));

  const { columns, rows } = shapeOf(items.length, size.width, NARROWEST, GAP);
  const [first, last] = visibleRows(top, size.height, PITCH, rows);
  const at = Math.min(active, Math.max(0, items.length - 1));

  // Other cases than before: begin at the top again, unless somebody comes back to these.
  const before = useRef(items);
  useLayoutEffect(() => {
    if (before.current === items) return;
    before.current = items;
    setActive(0);
    if (pane.current) pane.current.scrollTop = 0;
    setTop(0);
  }, [items]);
  useLayoutEffect(() => {
    const kept = left.get(name);
    if (kept && size.height && pane.current) {
      pane.current.scrollTop = kept.top;
      left.delete(name);
    }
  }, [size.height]);
  const now = useRef({ top, at });
  now.current = { top, at };
  useEffect(() => () => void left.set(name, now.current), [name]);

  useLayoutEffect(() => {
    if (!wanted.current || !size.height) return;
    wanted.current = false;
    pane.current?.querySelector<HTMLElement>(`[data-place="${at}"]`)?.focus({ preventScroll: true });
  });

  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(size.height / PITCH));
    const next = moveByKey(event.key, at, items.length, columns, page);
    if (next === null || !pane.current) return;
    event.preventDefault();
    const scroll = scrollToRow(Math.floor(next / columns), PITCH, pane.current.scrollTop, size.height);
    if (scroll !== null) {
      pane.current.scrollTop = scroll;
      setTop(pane.current.scrollTop);
    }
    wanted.current = true;
    setActive(next);
  };

  // The row that holds the focus stays, or the focus would be lost when it is scrolled away.
  const row = Math.floor(at / columns);
  const numbers = useMemo(() => {
    const seen = Array.from({ length: last - first }, (_, step) => first + step);
    return held && rows && (row < first || row >= last) ? [...seen, row] : seen;
  }, [first, last, held, rows, row]);
  const reached = held || (row >= first && row < last) ? at : Math.min(items.length - 1, Math.ceil(top / PITCH) * columns);

  return (
    <div
      ref={pane}
      class="grid-pane"
      role="grid"
      aria-label={label}
      aria-rowcount={rows}
      aria-colcount={columns}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={keys}
      onFocusIn={(event) => {
        const place = (event.target as HTMLElement).dataset["place"];
        if (place === undefined) return;
        setHeld(true);
        setActive(Number(place));
      }}
      onFocusOut={() => setHeld(false)}
    >
      <div class="grid-whole" role="presentation" style={{ height: `${Math.max(0, rows * PITCH - GAP)}px` }}>
        {numbers.map((number) => (
          <div
            key={number}
            class="grid-row"
            role="row"
            aria-rowindex={number + 1}
            style={{ transform: `translateY(${number * PITCH}px)`, height: `${CARD}px`, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
          >
            {items.slice(number * columns, (number + 1) * columns).map((item, column) => {
              const place = number * columns + column;
              return (
                <div key={item} role="gridcell" aria-colindex={column + 1} class="grid-cell">
                  {draw(item, { place, tabIndex: place === reached ? 0 : -1 })}
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}
