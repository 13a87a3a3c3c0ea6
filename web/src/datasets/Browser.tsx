// A dataset: all its cases as a grid, a search, facets as charts, and where its defects are.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Empty, Field, Tag, ErrorBox } from "../kit/kit";
import { useKeys } from "../kit/keys";
import { formatCount } from "../kit/numbers";
import { go, Link, to, useAddress, useQuery } from "../router";
import type { ViewProps } from "../routes";
import { useShelf } from "../shelf";
import { Card } from "./Card";
import { Facets } from "./Facets";
import { Grid } from "./Grid";
import { type SplitTable, type ChosenFilters, type Facet, type SearchHits, type LabelTable, RESERVED_NAMES, type Order, chosenFilters, makeSearch, namesOf, sortCases, filterCases, toggleFilter } from "./filters";
import "./datasets.css";

const ON_CARDS = ["category", "modality", "region"];

export default function Browser({ parts }: ViewProps) {
  const dataset = parts["dataset"] ?? "";
  const split = parts["split"] ?? "";
  const { shelf } = useShelf();
  const own = shelf.datasets.find((one) => one.id === dataset);
  const table = useApi<SplitTable>(apiUrl(["datasets", dataset, split, "cases"]));
  const labels = useApi<LabelTable>(shelf.rights.truth ? apiUrl(["datasets", dataset, split, "labels"]) : null);
  const name = own?.name ?? dataset;
  // Where the address asks for something the truth tells, other cases are not shown meanwhile.
  const { query } = useAddress();
  const known = new Set(table.data?.facets.map((facet) => facet.key));
  const waits = labels.busy && [...query.keys()].some((key) => key === "labels" || (!RESERVED_NAMES.has(key) && !known.has(key)));
  return (
    <div class="browser">
      <Crumbs trail={[{ text: name }, { text: split }]} />
      <header class="browser-head">
        <div class="row">
          <h1>{name}</h1>
          {own ? <Tag>{own.title}</Tag> : null}
          {own?.synthetic ? <Tag kind="good">synthetic</Tag> : null}
          <nav class="browser-splits" aria-label="Splits">
            {(own?.splits ?? [split]).map((one) => (
              <Link key={one} class="button" href={to("datasets", dataset, one)} aria-current={one === split ? "page" : undefined}>
                {one}
              </Link>
            ))}
          </nav>
        </div>
        <p class="quiet-text browser-terms">
          {table.data ? <Totals table={table.data} /> : null}
          {own ? `${own.licence}: ${own.terms}` : null}
        </p>
      </header>
      {table.problem ? <ErrorBox problem={table.problem} retry={table.reload} /> : null}
      {table.data && !waits ? (
        <Cases dataset={dataset} split={split} table={table.data} labels={labels.data} mayTruth={shelf.rights.truth} />
      ) : table.problem ? null : (
        <Loading what="the cases" />
      )}
    </div>
  );
}

function Totals({ table }: { table: SplitTable }) {
  const pictures = table.pictures.reduce((sum, count) => sum + count, 0);
  return (
    <strong>
      {formatCount(table.ids.length, "case")}, {formatCount(pictures, "picture")}.{" "}
    </strong>
  );
}

interface CasesProps {
  dataset: string;
  split: string;
  table: SplitTable;
  labels: LabelTable | null;
  mayTruth: boolean;
}

function Cases({ dataset, split, table, labels, mayTruth }: CasesProps) {
  const { path, query } = useAddress();
  const [words, setWords] = useQuery("q");
  const [order, setOrder] = useQuery("sort", "stored");
  const [tellsLabels, setLabels] = useQuery("labels");
  const tells = tellsLabels === "1" && labels !== null;
  const search = useSearch(dataset, split, words);
  const truths = labels?.facets ?? [];
  const facets = useMemo(() => [...table.facets, ...truths], [table, labels]);
  const chosenText = facets.map((facet) => query.getAll(facet.key).join("\n")).join("\n\n");
  const chosen = useMemo(() => chosenFilters(query, facets), [chosenText, facets]);
  const local = useMemo(
    () => table.ids.map((id, at) => `${id}\n${table.texts[at] ?? ""}\n${tells ? (labels?.titles[at] ?? "") : ""}`.toLowerCase()),
    [table, labels, tells],
  );
  const { kept, counts } = useMemo(() => filterCases(table.ids.length, facets, chosen, makeSearch(local, search)), [table, facets, chosen, local, search]);
  const titles = tells ? (labels?.titles ?? null) : null;
  const items = useSame(useMemo(() => sortCases(kept, order as Order, table, titles), [kept, order, table, titles]));
  const box = useRef<HTMLInputElement>(null);
  useKeys((key) => {
    if (key === "t" && labels) setLabels(tells ? "" : "1");
    else if (key === "/") box.current?.focus();
    else return false;
    return true;
  });

  const toggle = (facet: string, value: string) => go(`${path}?${toggleFilter(query, facet, value)}`, { replace: true });
  const clear = () => {
    const rest = new URLSearchParams([...query].filter(([key]) => RESERVED_NAMES.has(key) && key !== "q"));
    go(rest.size ? `${path}?${rest}` : path, { replace: true });
  };
  const whole = table.ids.length;
  const narrowed = chosen.size > 0 || words.trim() !== "";
  const defects = to("datasets", dataset, split, "defects");

  return (
    <div class="browser-body">
      <aside class="browser-side" aria-label="Filters" tabIndex={-1}>
        <Facets facets={table.facets} chosen={chosen} counts={counts} onToggle={toggle} />
        <Truths mayTruth={mayTruth} labels={labels} whole={whole} open={!mayTruth || tells || truths.some((facet) => chosen.has(facet.key))}>
          <Facets facets={truths} chosen={chosen} counts={counts} onToggle={toggle} />
        </Truths>
      </aside>
      <section class="browser-main" aria-label="Cases">
        <div class="browser-tools">
          <Field label="Search ids and texts">
            <input ref={box} type="search" value={words} maxLength={200} onInput={(event) => setWords(event.currentTarget.value)} placeholder="words, or a part of an id" />
          </Field>
          <Field label="Order">
            <select value={order} onChange={(event) => setOrder(event.currentTarget.value)}>
              <option value="stored">as stored</option>
              <option value="id">by id</option>
              <option value="pictures">most pictures first</option>
              {tells ? <option value="title">by title</option> : null}
            </select>
          </Field>
          {mayTruth ? (
            <label class="browser-tick">
              <input type="checkbox" checked={tells} disabled={!labels} onChange={(event) => setLabels(event.currentTarget.checked ? "1" : "")} />
              Show truth labels
            </label>
          ) : null}
          <p class="browser-count" role="status">
            {narrowed ? `${items.length.toLocaleString("en")} of ` : ""}
            {formatCount(whole, "case")}
          </p>
          {mayTruth ? (
            <>
              <Link class="button" href={to("datasets", dataset, split, "description")}>
                What is in it
              </Link>
              <Link class="button" href={defects}>
                Defects
              </Link>
            </>
          ) : null}
        </div>
        {table.unread ? (
          <p class="browser-unread">
            <Tag kind="bad">{formatCount(table.unread, "row")} skipped</Tag> {table.unread === 1 ? "One row" : "Some rows"} could not become a case and{" "}
            {table.unread === 1 ? "is" : "are"} not shown{mayTruth ? <>; <Link href={defects}>the defects say why</Link></> : null}.
          </p>
        ) : null}
        <Chips facets={facets} chosen={chosen} words={words} onToggle={toggle} onWords={() => setWords("")} onClear={clear} />
        {items.length ? (
          <Grid
            label={`Cases of ${split}`}
            name={`${path}?${query}`}
            items={items}
            draw={(at, card) => {
              const id = table.ids[at] ?? "";
              return (
                <Card
                  {...card}
                  id={id}
                  href={to("cases", dataset, split, id)}
                  thumb={apiUrl(["datasets", dataset, split, "thumbs", id])}
                  pictures={table.pictures[at] ?? 0}
                  volumes={table.volumes[at] ?? 0}
                  text={table.texts[at] ?? ""}
                  title={titles?.[at] ?? ""}
                  labels={tells ? namesOf(at, truths, ON_CARDS).join(", ") : ""}
                />
              );
            }}
          />
        ) : (
          <Empty title={whole ? "No case matches" : "This split has no cases"}>
            {whole ? (
              <button type="button" onClick={clear}>
                Clear the search and all filters
              </button>
            ) : null}
          </Empty>
        )}
        <p class="quiet-text browser-keys">
          <kbd>/</kbd> search {mayTruth ? <><kbd>t</kbd> truth labels </> : null}<kbd>←</kbd> <kbd>↑</kbd> <kbd>↓</kbd> <kbd>→</kbd> <kbd>Page Down</kbd> <kbd>End</kbd> move among the cases <kbd>Enter</kbd> open
        </p>
      </section>
    </div>
  );
}

/** The same list as before where it holds the same: labels that come later move nobody. */
function useSame(items: number[]): number[] {
  const last = useRef(items);
  const before = last.current;
  if (before.length !== items.length || before.some((item, at) => item !== items[at])) last.current = items;
  return last.current;
}

/** The last search that was answered, so that nothing flickers while somebody types. */
function useSearch(dataset: string, split: string, words: string): SearchHits | null {
  const wanted = words.trim();
  const hits = useApi<SearchHits>(wanted ? apiUrl(["datasets", dataset, split, "search"], { words: wanted }) : null);
  const last = useRef<SearchHits | null>(null);
  if (!wanted) last.current = null;
  else if (hits.data) last.current = hits.data;
  else if (hits.problem && last.current?.words.join(" ") !== wanted.toLowerCase())
    last.current = { words: wanted.toLowerCase().split(/\s+/), cases: [] };
  return last.current;
}

interface TruthsProps {
  mayTruth: boolean;
  labels: LabelTable | null;
  whole: number;
  /** Asked for, by the labels on the cards or by a filter of the address. */
  open: boolean;
  children: ComponentChildren;
}

function Truths({ mayTruth, labels, whole, open, children }: TruthsProps) {
  const [unfolded, setUnfolded] = useState(open);
  useEffect(() => {
    if (open) setUnfolded(true);
  }, [open]);
  const why = !mayTruth
    ? "Categories, modalities and regions belong to the truth, which is withheld on this page."
    : !labels
      ? "Loading …"
      : whole && labels.withheld === whole
        ? "The release withholds the truth of this split."
        : labels.withheld
          ? `The truth of ${labels.withheld.toLocaleString("en")} cases is not in the release.`
          : "";
  return (
    <details class="browser-truths" open={unfolded} onToggle={(event) => setUnfolded(event.currentTarget.open)}>
      <summary>From the truth</summary>
      {why ? <p class="quiet-text">{why}</p> : null}
      {children}
    </details>
  );
}

interface ChipsProps {
  facets: Facet[];
  chosen: ChosenFilters;
  words: string;
  onToggle: (facet: string, value: string) => void;
  onWords: () => void;
  onClear: () => void;
}

function Chips({ facets, chosen, words, onToggle, onWords, onClear }: ChipsProps) {
  if (!chosen.size && !words.trim()) return null;
  return (
    <div class="browser-chips" role="group" aria-label="Active filters">
      {words.trim() ? (
        <button type="button" onClick={onWords} aria-label={`Remove search ${words.trim()}`}>
          “{words.trim()}” <span aria-hidden="true">×</span>
        </button>
      ) : null}
      {facets.flatMap((facet) =>
        facet.values
          .filter((value) => chosen.get(facet.key)?.has(value.key))
          .map((value) => (
            <button key={`${facet.key} ${value.key}`} type="button" onClick={() => onToggle(facet.key, value.key)} aria-label={`Remove filter ${facet.title}: ${value.name}`}>
              {facet.title}: {value.name} <span aria-hidden="true">×</span>
            </button>
          )),
      )}
      <button type="button" class="quiet" onClick={onClear}>
        Clear all
      </button>
    </div>
  );
}
