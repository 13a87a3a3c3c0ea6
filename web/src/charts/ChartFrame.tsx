// Around every chart: its title, what it says, the same as a table, and the files it can be saved as.
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { useSize } from "../kit/useSize";
import "./charts.css";
import { type Cell, csvOf } from "./csv";
import { svgToPng, fileName, saveBlob, saveText, standaloneSvg } from "./save_files";

interface ChartTable {
  columns: string[];
  rows: Cell[][];
}

interface Props {
  title: string;
  about?: ComponentChildren;
  /** What the files are called. */
  name: string;
  table: ChartTable;
  /** Draws the chart for a width in pixels. */
  children: (width: number) => ComponentChildren;
}

export function ChartFrame({ title, about, name, table, children }: Props) {
  const [asTable, setAsTable] = useState(false);
  const [problem, setProblem] = useState("");
  const place = useRef<HTMLDivElement>(null);
  const width = Math.max(280, useSize(place, { width: 640, height: 0 }).room.width);
  const drawn = () => {
    const svg = place.current?.querySelector("svg");
    return svg ? standaloneSvg(svg, title) : "";
  };
  const png = async () => {
    try {
      saveBlob(`${fileName(name)}.png`, await svgToPng(drawn()));
      setProblem("");
    } catch (error) {
      setProblem(`The image could not be created: ${String(error)}`);
    }
  };
  return (
    <figure class="chart">
      <figcaption class="chart-head">
        <h3>{title}</h3>
        <div class="chart-tools">
          <button type="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)} aria-label={`${title} as a table`}>
            Table
          </button>
          <button type="button" onClick={() => saveText(`${fileName(name)}.csv`, csvOf(table.columns, table.rows), "text/csv")} aria-label={`Save ${title} as CSV`}>
            CSV
          </button>
          <button type="button" disabled={asTable} onClick={() => saveText(`${fileName(name)}.svg`, drawn(), "image/svg+xml")} aria-label={`Save ${title} as SVG`}>
            SVG
          </button>
          <button type="button" disabled={asTable} onClick={() => void png()} aria-label={`Save ${title} as PNG`}>
            PNG
          </button>
        </div>
      </figcaption>
      {about ? <p class="quiet-text">{about}</p> : null}
      {problem ? <p role="alert">{problem}</p> : null}
      <div ref={place}>{asTable ? <PlainTable title={title} table={table} /> : children(width)}</div>
    </figure>
  );
}

function PlainTable({ title, table }: { title: string; table: ChartTable }) {
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, place) => (
                <td key={place} class={typeof cell === "number" ? "number" : ""}>
                  {typeof cell === "number" ? Number(cell.toFixed(4)) : cell === null || cell === undefined ? "–" : String(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
