// The sentences of a case beside the scan: what is shown, where it lies, how well it was met.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { formatNumber as number } from "../kit/numbers";
import type { Mode } from "./labels";
import { placeWords } from "./space";
import { type At, type Row, type LesionFacts, canShow } from "./useMarks";

interface FindingListProps {
  at: At;
  rows: Row[];
  run: string;
  mode: Mode;
  shown: ReadonlySet<string>;
  onShown: (query: string, on: boolean) => void;
  /** Which lesion was jumped to last: "query/truth/3". */
  chosen: string;
  onJump: (row: Row, spot: LesionFacts, side: "truth" | "made") => void;
}

const PLACES = 8;
/** Lesions that are listed at first; the rest on demand. */

export function FindingList(props: FindingListProps) {
  if (props.rows.length === 0) return <p class="quiet-text">No findings for this scan.</p>;
  return (
    <ol class="ct-findings">
      {props.rows.map((row) => (
        <li key={row.query} data-query={row.query}>
          <label class="ct-finding">
            <input
              type="checkbox"
              checked={props.shown.has(row.query)}
              disabled={!canShow(row, props.mode)}
              onChange={(event) => props.onShown(row.query, event.currentTarget.checked)}
            />
            <span>
              {row.text}
              {row.category ? <span class="tag ct-category">{row.category}</span> : null}
            </span>
          </label>
          {row.truth?.problem ? <p class="quiet-text">{row.truth.problem}</p> : null}
          {props.run && row.made?.problem ? <p class="quiet-text">{row.made.problem}</p> : null}
          {row.truth?.met ? <Numbers at={props.at} run={props.run} row={row} met={row.truth.met} /> : null}
          {row.truth && !row.truth.problem ? (
            <Spots {...props} row={row} side="truth" title={`Entities of the truth, ${number(row.truth.ml, 1)} ml`} spots={row.truth.entities ?? []} />
          ) : null}
          {row.made && !row.made.problem ? (
            <Spots {...props} row={row} side="made" title={`Marked by the run, ${number(row.made.ml, 1)} ml`} spots={row.made.lesions ?? []} />
          ) : null}
        </li>
      ))}
    </ol>
  );
}

function Spots(props: FindingListProps & { row: Row; side: "truth" | "made"; title: string; spots: LesionFacts[] }) {
  const { row, side, spots } = props;
  const [all, setAll] = useState(false);
  // What needs a look first: what was missed or is a false alarm, then the largest.
  const order = [...spots].sort((a, b) => Number(a.met === true) - Number(b.met === true) || b.voxels - a.voxels);
  const listed = all ? order : order.slice(0, PLACES);
  return (
    <div class="ct-spots">
      <p class="quiet-text">{props.title}</p>
      <div class="ct-jumps" role="group" aria-label={`${props.title}: ${row.text}`}>
        {listed.map((spot) => {
          const verdict = lesionVerdict(spot, side);
          return (
            <button
              key={spot.number}
              type="button"
              class={verdict.class}
              data-spot={spot.number}
              aria-pressed={props.chosen === `${row.query}/${side}/${spot.number}`}
              onClick={() => props.onJump(row, spot, side)}
              title={`${number(spot.ml, 2)} ml at ${placeWords(spot.at)}${verdict.word ? `, ${verdict.word}` : ""}`}
            >
              {verdict.sign} {spot.number}
              <span class="hidden-text">
                {verdict.word}, {number(spot.ml, 2)} ml, go to {placeWords(spot.at)}
              </span>
            </button>
          );
        })}
        {order.length > PLACES ? (
          <button type="button" class="quiet" onClick={() => setAll(!all)}>
            {all ? "fewer" : `${order.length - PLACES} more`}
          </button>
        ) : null}
      </div>
    </div>
  );
}

/** What became of a lesion, as a word, a sign and a colour. */
function lesionVerdict(spot: LesionFacts, side: "truth" | "made"): { word: string; sign: string; class: string } {
  if (spot.met === null || spot.met === undefined) return { word: "", sign: "◎", class: "ct-jump" };
  if (spot.met) return { word: "matched", sign: "✓", class: "ct-jump ct-hit" };
  return side === "truth" ? { word: "missed", sign: "∕", class: "ct-jump ct-miss" } : { word: "false alarm", sign: "∖", class: "ct-jump ct-alarm" };
}

function Numbers({ at, run, row, met }: { at: At; run: string; row: Row; met: NonNullable<Schemas["FindingFacts"]["met"]> }) {
  const both = (row.truth?.voxels ?? 0) > 0 && (row.made?.voxels ?? 0) > 0;
  const away = useApi<Schemas["SurfaceDistances"]>(both ? apiUrl(["volumes", ...at, "distances", row.query], { run }) : null);
  const cell = (value: number | undefined, digits: number, unit = "") => (away.busy ? "…" : value === undefined ? "–" : `${number(value, digits)}${unit}`);
  const rows: [name: string, about: string, value: ComponentChildren][] = [
    [
      "Dice",
      "Overlap with the truth, from 0 to 1; a hit from 0.1 on",
      <>
        {number(met.dice, 3)} <span class={met.hit ? "tag good" : "tag bad"}>{met.hit ? "hit" : "no hit"}</span>
      </>,
    ],
    ["Entities matched", "Entities of the truth that a predicted lesion matches", `${met.met} of ${met.met + met.missed}`],
    ["False alarms", "Predicted lesions that match no entity", met.surplus],
    ["HD95", "95 % of either surface lies this near to the other", cell(away.data?.hd95, 1, " mm")],
    ["Mean distance", "Between the surface voxels of both", cell(away.data?.assd, 1, " mm")],
  ];
  return (
    <table class="ct-numbers">
      <tbody>
        {rows.map(([name, about, value]) => (
          <tr key={name}>
            <th scope="row">
              <abbr title={about}>{name}</abbr>
            </th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
