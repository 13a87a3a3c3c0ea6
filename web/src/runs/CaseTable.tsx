// The cases of a run: what became of each, and what each scores. Every number leads here.
import { useMemo } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { Loading, Field, Tag, ErrorBox } from "../kit/kit";
import { Link, go, here, useQuery } from "../router";
import { useShelf } from "../shelf";
import { traceUrl } from "./links";
import { ARROWS, formatCount, formatScore } from "../kit/numbers";
import { type Column, RowTable } from "./RowTable";
import type { Scorecard, RunStatus } from "./RunView";

type Row = Schemas["RunCaseRow"];
const KINDS = { read: "good", failed: "bad", missing: "warn", "not judged": "warn" } as const;

export default function CaseTable({ run, card }: { run: RunStatus; card: Scorecard | null }) {
  const { shelf } = useShelf();
  const [breakdown] = useQuery("breakdown");
  const [group] = useQuery("group");
  const [metric, setMetric] = useQuery("metric");
  const [state, setState] = useQuery("state");
  const [right, setRight] = useQuery("right");
  const [sure] = useQuery("sure");
  const [text, setText] = useQuery("find");
  const [truth, setTruth] = useQuery("truth");
  const query = breakdown && group ? { breakdown, group } : {};
  const asked = useApi<Schemas["RunCaseTable"]>(apiUrl(["runs", run.id, "cases"], query), run.live ? 5000 : 0);
  const table = asked.data;
  const headline = card?.scores.find((score) => score.official) ?? card?.scores[0];
  // Whether single cases are right is truth, and stays hidden until somebody asks.
  const open = truth === "1" && shelf.rights.truth;
  const metrics = open && table ? table.metrics : [];
  const chosen = metrics.includes(metric) ? metric : open ? (headline?.name ?? "") : "";
  const columns = useMemo(() => columnsOf(run, card, metrics, chosen, open), [run.id, run.repeat, card, metrics.join(), chosen, open]);
  const wanted = open ? right : "";
  const rows = useMemo(() => (table ? table.rows.filter(rowFilter({ state, right: wanted, sure, text })) : []), [table, state, wanted, sure, text]);
  if (!table) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the cases" />;
  const asksChoice = open && table.rows.some((row) => row.right !== null);
  const about = card?.scores.find((score) => score.name === chosen);
  return (
    <div class="stack">
      <div class="row">
        <Field label="Find a case">
          <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} placeholder="part of its id" />
        </Field>
        <Field label="State">
          <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
            <option value="">all</option>
            {Object.keys(KINDS).map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </Field>
        {asksChoice ? (
          <Field label="Answer">
            <select value={right} onChange={(event) => setRight(event.currentTarget.value)}>
              <option value="">all</option>
              <option value="1">right</option>
              <option value="0">wrong</option>
            </select>
          </Field>
        ) : null}
        {metrics.length ? (
          <Field label="Score">
            <select value={chosen} onChange={(event) => setMetric(event.currentTarget.value)}>
              {metrics.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
        ) : null}
        {breakdown && group ? <Only what={`${breakdown}: ${group}`} names={["breakdown", "group"]} /> : null}
        {sure ? <Only what={`confidence ${sure.replace("-", " to ")}`} names={["sure"]} /> : null}
        {shelf.rights.truth ? (
          <button type="button" aria-pressed={open} onClick={() => setTruth(open ? "" : "1")}>
            {open ? "Hide correctness" : "Show correctness"}
          </button>
        ) : (
          <Tag kind="warn">scores of single cases are withheld</Tag>
        )}
      </div>
      {about ? (
        <p class="quiet-text">
          {about.name}: {about.about}. {breakdown && group ? `The numbers are those of the units in ${breakdown} ${group} alone.` : "The numbers are those of each case alone."}
        </p>
      ) : null}
      <RowTable
        label={`Cases of ${run.name}`}
        name={[run.name, "cases", breakdown, group].filter(Boolean).join("-")}
        columns={columns}
        rows={rows}
        keyOf={(row) => row.case}
        tools={rows.length < table.rows.length ? <span class="quiet-text">of {formatCount(table.rows.length, "case")}</span> : null}
      />
    </div>
  );
}

/** What is left out, with a way to have all again. */
function Only({ what, names }: { what: string; names: string[] }) {
  const clear = () => {
    const now = here();
    for (const name of names) now.query.delete(name);
    go(`${now.path}?${now.query.toString()}`, { replace: true });
  };
  return (
    <button type="button" onClick={clear} aria-label={`Only ${what}: show all again`}>
      only {what} <span aria-hidden="true">✕</span>
    </button>
  );
}

interface RowFilter {
  state: string;
  right: string;
  /** A range of confidence, '0.4-0.6'. */
  sure: string;
  text: string;
}

/** Whether a row is wanted. */
export function rowFilter({ state, right, sure, text }: RowFilter): (row: Row) => boolean {
  const [low, high] = sure.split("-").map(Number);
  const part = text.trim().toLowerCase();
  return (row) =>
    (!state || row.state === state) &&
    // Bins hold their upper end, as the calibration error counts them.
    (!sure || (row.sure !== null && row.sure > (low ?? 0) && row.sure <= (high ?? 1) + 1e-12)) &&
    (!right || (row.right !== null && (right === "1") === (row.right.length > 0 && row.right.every(Boolean)))) &&
    (!part || row.case.toLowerCase().includes(part));
}

const RIGHT: Column<Row> = {
  id: "right",
  head: "Right",
  width: 6,
  value: (row) => (row.right ? row.right.filter(Boolean).length / Math.max(row.right.length, 1) : null),
  cell: (row) => <Right right={row.right} />,
};

function columnsOf(run: RunStatus, card: Scorecard | null, metrics: string[], chosen: string, open: boolean): Column<Row>[] {
  const place = metrics.indexOf(chosen);
  const better = new Map(card?.scores.map((score) => [score.name, score.better]) ?? []);
  const official = card?.scores.filter((score) => score.official && !score.twin && score.name !== chosen && metrics.includes(score.name)).slice(0, 3) ?? [];
  const value = (name: string, at: number, id: string): Column<Row> => ({
    id,
    head: `${name}${better.has(name) ? ` ${ARROWS[better.get(name) ?? "higher"]}` : ""}`,
    width: 9,
    number: true,
    value: (row) => row.values[at],
    cell: (row) => formatScore(row.values[at]),
  });
  const shown: Column<Row>[] = [
    { id: "case", head: "Case", width: 13, value: (row) => row.case, cell: (row) => <Link href={traceUrl(run.id, row.case)}>{row.case}</Link> },
    {
      id: "state",
      head: "State",
      width: 7,
      value: (row) => row.state,
      cell: (row) => (
        <span title={row.error ?? ""}>
          <Tag kind={KINDS[row.state]}>{row.state}</Tag>
        </span>
      ),
    },
    { id: "choice", head: run.repeat > 1 ? "Choices" : "Choice", width: 8, value: (row) => row.choices.map((one) => one ?? "–").join(" ") || null },
    ...(open ? [RIGHT] : []),
    ...(place >= 0 ? [value(chosen, place, "metric")] : []),
    ...official.map((score) => value(score.name, metrics.indexOf(score.name), score.name)),
    { id: "sure", head: "Confidence", title: "Probability of its most likely option", width: 7, number: true, value: (row) => row.sure, cell: (row) => formatScore(row.sure) },
    { id: "findings", head: "Findings", width: 6, number: true, value: (row) => row.findings },
    { id: "steps", head: "Steps", width: 5, number: true, value: (row) => row.steps },
    { id: "tokens", head: "Tokens", width: 6, number: true, value: (row) => row.tokens, cell: (row) => (row.tokens ? row.tokens.toLocaleString("en") : "–") },
    { id: "seconds", head: "Seconds", width: 6, number: true, value: (row) => row.seconds, cell: (row) => (row.seconds ? row.seconds.toFixed(1) : "–") },
    { id: "cost", head: "Cost", width: 5, number: true, value: (row) => row.cost, cell: (row) => (row.cost === null ? "–" : row.cost.toFixed(4)) },
    { id: "error", head: "Why it failed", width: 18, value: (row) => row.error, cell: (row) => <span title={row.error ?? ""}>{row.error ?? ""}</span> },
  ];
  const seen = new Set([chosen, ...official.map((score) => score.name)]);
  const saved = metrics.flatMap((name, at) => (seen.has(name) ? [] : [{ ...value(name, at, name), hidden: true }]));
  return [...shown, ...saved];
}

function Right({ right }: { right: (boolean | null)[] | null }) {
  if (!right || !right.length) return <>–</>;
  const many = right.filter(Boolean).length;
  if (right.length > 1)
    return (
      <>
        {many} of {right.length}
      </>
    );
  return many ? <span class="runs-right">✓ right</span> : <span class="runs-wrong">✗ wrong</span>;
}
