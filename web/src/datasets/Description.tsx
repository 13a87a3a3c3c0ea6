// What `overread describe` counts of a dataset: totals, bars of words, histograms of numbers, and what is not told.
import { useState } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { ChartFrame } from "../charts/ChartFrame";
import { Histogram } from "../charts/Histogram";
import { csvOf } from "../charts/csv";
import { fileName, saveText } from "../charts/save_files";
import { Crumbs } from "../crumbs";
import { Empty, ErrorBox, Field, Loading, Sheet } from "../kit/kit";
import { Link, to, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useShelf } from "../shelf";
import "./description.css";

type Found = Schemas["Description"];
type Counts = Schemas["CountTable"];
type Numbers = Schemas["NumberTable"];
const FIRST = 12;

const count = (value: number) => value.toLocaleString("en");
const number = (value: number) => (Number.isInteger(value) || Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3))));

export default function Description({ parts }: ViewProps) {
  const dataset = parts["dataset"] ?? "";
  const split = parts["split"] ?? "";
  const { shelf } = useShelf();
  const name = shelf.datasets.find((one) => one.id === dataset)?.name ?? dataset;
  const cases = to("datasets", dataset, split);
  return (
    <div class="stack">
      <Crumbs trail={[{ text: name, href: cases }, { text: split, href: cases }, { text: "What is in it" }]} />
      <div class="row">
        <h1 style={{ margin: 0 }}>What is in {name}</h1>
        <Link class="button" href={cases}>
          Back to the cases
        </Link>
      </div>
      {shelf.rights.truth ? <Tables dataset={dataset} name={name} /> : <Empty title="What a dataset holds needs the truth, which is withheld on this page" />}
    </div>
  );
}

function Tables({ dataset, name }: { dataset: string; name: string }) {
  const asked = useApi<Found>(apiUrl(["datasets", dataset, "description"]));
  const [chosen, setChosen] = useQuery("of");
  const found = asked.data;
  if (!found) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the counts" />;
  const shown = found.splits.includes(chosen) ? chosen : (found.splits.at(-1) ?? "");
  return (
    <>
      <Totals found={found} />
      <div class="row">
        <Field label="Charts of">
          <select value={shown} onChange={(event) => setChosen(event.currentTarget.value)}>
            {found.splits.map((one) => (
              <option key={one} value={one}>
                {one === "all" ? "all splits" : one}
              </option>
            ))}
          </select>
        </Field>
        <span class="quiet-text">Tables and files show every split.</span>
      </div>
      <div class="description-tables">
        {found.tables?.map((table) => (
          <Sheet key={table.key}>
            {table.kind === "counts" ? <CountSheet table={table} splits={found.splits} shown={shown} name={name} /> : <NumberSheet table={table} shown={shown} name={name} />}
          </Sheet>
        ))}
      </div>
      {found.missing?.length ? (
        <Sheet title="Not told by this copy">
          <ul>
            {found.missing.map((one) => (
              <li key={one.what}>
                <strong>{one.what}</strong>: {one.why}
              </li>
            ))}
          </ul>
        </Sheet>
      ) : null}
      {found.published?.length ? <Published found={found} /> : null}
    </>
  );
}

function Totals({ found }: { found: Found }) {
  return (
    <Sheet title="Totals">
      <div class="scrolls" tabIndex={0} role="region" aria-label="Totals">
        <table>
          <thead>
            <tr>
              <th scope="col">Count</th>
              {found.splits.map((split) => (
                <th key={split} scope="col" class="number">
                  {split}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.totals.map((total) => (
              <tr key={total.name}>
                <th scope="row">{total.name}</th>
                {found.splits.map((split) => (
                  <td key={split} class="number">
                    {count(total.values[split] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Sheet>
  );
}

function CountSheet({ table, splits, shown, name }: { table: Counts; splits: string[]; shown: string; name: string }) {
  const [all, setAll] = useState(false);
  const whole = table.whole[shown] ?? 0;
  const there = table.rows.filter((row) => (row.values[shown] ?? 0) > 0);
  const rows = all ? there : there.slice(0, FIRST);
  const most = Math.max(1, ...there.map((row) => row.values[shown] ?? 0));
  const save = () =>
    saveText(`${fileName(name, table.key)}.csv`, csvOf([table.title, ...splits], [...table.rows.map((row) => [row.name, ...splits.map((split) => row.values[split] ?? 0)]), [`of ${table.unit}`, ...splits.map((split) => table.whole[split] ?? 0)]]), "text/csv");
  return (
    <section aria-label={table.title}>
      <div class="description-head">
        <h3>{table.title}</h3>
        <button type="button" onClick={save} aria-label={`Save ${table.title} as CSV`}>
          CSV
        </button>
      </div>
      <p class="quiet-text">
        {table.about}
        {table.several ? "; one may be in several rows" : ""}
      </p>
      {there.length ? (
        <BarRows rows={rows.map((row) => ({ name: row.name, n: row.values[shown] ?? 0 }))} whole={whole} most={most} />
      ) : (
        <p>None in {shown}.</p>
      )}
      {there.length > FIRST ? (
        <button type="button" class="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${there.length}`}
        </button>
      ) : null}
      <p class="quiet-text">
        of {count(whole)} {table.unit}
      </p>
    </section>
  );
}

function BarRows({ rows, whole, most }: { rows: { name: string; n: number }[]; whole: number; most: number }) {
  return (
    <table class="description-bars">
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">{row.name}</th>
            <td class="number">{count(row.n)}</td>
            <td class="number description-share">{whole ? `${((100 * row.n) / whole).toFixed(1)} %` : ""}</td>
            <td class="description-track" aria-hidden="true">
              <span style={{ width: `${(100 * row.n) / most}%` }} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function NumberSheet({ table, shown, name }: { table: Numbers; shown: string; name: string }) {
  const [group, setGroup] = useState("all");
  const row = table.rows.find((one) => one.name === group) ?? table.rows[0];
  const own = row?.values[shown];
  const columns = ["group", "split", table.unit, "mean", "sd", "least", "quarter", "median", "three quarters", "most"];
  const lines = table.rows.flatMap((one) => Object.entries(one.values).map(([split, s]) => [one.name, split, s.count, s.mean, s.sd, s.least, s.q1, s.median, s.q3, s.most]));
  return (
    <section aria-label={table.title}>
      {table.rows.length > 1 ? (
        <Field label="Group">
          <select value={group} onChange={(event) => setGroup(event.currentTarget.value)}>
            {table.rows.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </Field>
      ) : null}
      <ChartFrame title={table.title} name={`${name}-${table.key}`} about={table.about} table={{ columns, rows: lines }}>
        {(width) =>
          row && own ? (
            isWide(row.edges) ? (
              <BarRows rows={own.bins.map((n, at) => ({ name: `${number(row.edges[at] ?? 0)} to ${number(row.edges[at + 1] ?? 0)}`, n }))} whole={own.count} most={Math.max(1, ...own.bins)} />
            ) : (
              <Histogram width={width} label={table.title} across={table.title} up={table.unit} bars={own.bins.map((n, at) => ({ low: row.edges[at] ?? 0, high: row.edges[at + 1] ?? 0, n }))} />
            )
          ) : (
            <p>None in {shown}.</p>
          )
        }
      </ChartFrame>
      {own ? (
        <p class="description-told">
          {count(own.count)} {table.unit}: mean {number(own.mean)}, median {number(own.median)}, half of them {number(own.q1)} to {number(own.q3)}, all {number(own.least)} to {number(own.most)}
        </p>
      ) : null}
    </section>
  );
}

/** Borders that grow a hundredfold would squeeze all bars but the last: those are listed instead. */
const isWide = (edges: number[]) => edges.length > 3 && (edges.at(-1) ?? 0) >= 100 * (edges[1] ?? 1);

function Published({ found }: { found: Found }) {
  return (
    <details class="sheet">
      <summary>Beside the published numbers</summary>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Published numbers">
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Split</th>
              <th scope="col" class="number">
                Published
              </th>
              <th scope="col" class="number">
                Here
              </th>
              <th scope="col">Source</th>
            </tr>
          </thead>
          <tbody>
            {found.published?.map((one) => (
              <tr key={one.what + one.split}>
                <th scope="row">{one.what}</th>
                <td>{one.split}</td>
                <td class="number">{number(one.published)}</td>
                <td class="number">{one.here === null ? "not told" : number(one.here)}</td>
                <td>{one.source}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
