// A table of any length: only the rows in sight are drawn. Sorts by any column, saves itself as CSV.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { type Cell, csvOf } from "../charts/csv";
import { fileName, saveText } from "../charts/save_files";
import { formatCount } from "../kit/numbers";
import { useSize } from "../kit/useSize";
import { visibleRows } from "../kit/windowing";
import { useQuery } from "../router";
import { sortedBy } from "./sorting";
import "./runs.css";

export interface Column<R> {
  id: string;
  head: string;
  title?: string;
  /** Width in rem. */
  width: number;
  number?: boolean;
  /** What is sorted by and saved. */
  value: (row: R) => Cell;
  /** What is shown, where that is more than the value. */
  cell?: (row: R) => ComponentChildren;
  /** Saved, but not shown. */
  hidden?: boolean;
}

interface Props<R> {
  label: string;
  name: string;
  columns: Column<R>[];
  rows: R[];
  keyOf: (row: R) => string;
  /** The usual order: a column's id, with a minus for the largest first. */
  usual?: string;
  /** What the order is called in the address. */
  query?: string;
  tools?: ComponentChildren;
}

const ROW = 34;
const BEYOND = 12;

export function RowTable<R>({ label, name, columns, rows, keyOf, usual = "", query = "sort", tools }: Props<R>) {
  const [order, setOrder] = useQuery(query, usual);
  const by = order.replace(/^-/, "");
  const down = order.startsWith("-");
  const column = columns.find((one) => one.id === by);
  const sorted = useMemo(() => (column ? sortedBy(rows, column.value, down) : rows), [rows, column?.id, down, columns]);
  const shown = columns.filter((one) => !one.hidden);
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const { room } = useSize(place, { width: 0, height: 600 });
  const [first, last] = visibleRows(top, room.height, ROW, sorted.length, BEYOND);
  const choose = (id: string, number: boolean) => {
    place.current?.scrollTo(0, 0);
    // Numbers with the largest first, words from A: then the other way round.
    const begin = number ? `-${id}` : id;
    setOrder(order === begin ? (number ? id : `-${id}`) : begin);
  };
  const saved = () =>
    saveText(
      `${fileName(name)}.csv`,
      csvOf(
        columns.map((one) => one.head),
        sorted.map((row) => columns.map((one) => one.value(row))),
      ),
      "text/csv",
    );
  return (
    <div class="rows">
      <div class="row rows-tools">
        <span class="quiet-text" role="status">
          {formatCount(rows.length, "row")}
        </span>
        {tools}
        <button type="button" onClick={saved} aria-label={`Save ${label} as CSV`}>
          CSV
        </button>
      </div>
      <div class="rows-view" ref={place} tabIndex={0} role="region" aria-label={label} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table aria-rowcount={sorted.length + 1} style={{ minWidth: `${shown.reduce((sum, one) => sum + one.width, 0)}rem` }}>
          <colgroup>
            {shown.map((one) => (
              <col key={one.id} style={{ width: `${one.width}rem` }} />
            ))}
          </colgroup>
          <thead>
            <tr>
              {shown.map((one) => (
                <th key={one.id} scope="col" class={one.number ? "number" : ""} aria-sort={one.id === by ? (down ? "descending" : "ascending") : "none"}>
                  <button type="button" class="rows-sort" title={one.title ?? `Sort by ${one.head}`} onClick={() => choose(one.id, one.number ?? false)}>
                    <span>{one.head}</span>
                    <span aria-hidden="true">{one.id === by ? (down ? "▼" : "▲") : ""}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {first > 0 ? <Space height={first * ROW} columns={shown.length} /> : null}
            {sorted.slice(first, last).map((row, at) => (
              <tr key={keyOf(row)} aria-rowindex={first + at + 2} style={{ height: `${ROW}px` }}>
                {shown.map((one) => (
                  <td key={one.id} class={one.number ? "number" : ""}>
                    {one.cell ? one.cell(row) : (one.value(row) ?? "–")}
                  </td>
                ))}
              </tr>
            ))}
            {last < sorted.length ? <Space height={(sorted.length - last) * ROW} columns={shown.length} /> : null}
          </tbody>
        </table>
        {rows.length ? null : <p class="empty">Nothing here.</p>}
      </div>
    </div>
  );
}

function Space({ height, columns }: { height: number; columns: number }) {
  return (
    <tr aria-hidden="true" style={{ height: `${height}px` }}>
      <td colSpan={columns} style={{ padding: 0, border: "none" }} />
    </tr>
  );
}
