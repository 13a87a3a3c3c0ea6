// The cases on which runs are furthest apart, each one click from being seen side by side.
import { useEffect, useState } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { Loading, Sheet, Tag, ErrorBox } from "../kit/kit";
import { Link, useQuery } from "../router";
import { useShelf } from "../shelf";
import { sideBySideUrl } from "./links";
import { formatScore } from "../kit/numbers";
import { type Column, RowTable } from "./RowTable";
import { shortNames } from "./short_names";

type DisagreementList = Schemas["Disagreements"];
type Row = Schemas["Disagreement"];
const MOST = 8;

export default function Disagreements({ runs, metric }: { runs: string[]; metric: string | null }) {
  const { shelf } = useShelf();
  const [truth, setTruth] = useQuery("truth");
  const open = truth === "1" && shelf.rights.truth;
  const chosen = runs.slice(0, MOST);
  const asked = useApi<DisagreementList>(apiUrl(["disagreement"], { runs: chosen.join(","), metric: (open && metric) || undefined }));
  const masks = asked.data?.asks_masks ?? false;
  const [measured, setMeasured] = useState(false);
  const overlap = useApi<Schemas["MaskDistances"]>(masks ? apiUrl(["disagreement", "masks"], { runs: chosen.join(",") }) : null, measured ? 0 : 1500);
  const far = overlap.data;
  useEffect(() => setMeasured(far !== null && far.done >= far.of), [far?.done, far?.of]);
  if (!asked.data) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the disagreements" />;
  const found = asked.data;
  const apartOf = (row: Row) => (masks ? (far?.apart[row.case] ?? null) : row.apart);
  const names = shortNames(found.runs.map((id) => shelf.runs.find((run) => run.id === id)?.name ?? id));
  const some = (has: (row: Row) => boolean) => found.rows.some(has);
  const columns: Column<Row>[] = [
    { id: "case", head: "Case", width: 12, value: (row) => row.case, cell: (row) => <Link href={sideBySideUrl(row.case, found.runs)}>{row.case}</Link> },
  ];
  if (masks || some((row) => row.apart !== null)) columns.push({ id: "apart", head: "Distance", title: found.rule, width: 6, number: true, value: apartOf, cell: (row) => formatScore(apartOf(row)) });
  if (some((row) => row.words !== null)) columns.push({ id: "words", head: "Word distance", title: "Share of the words that only one of two has", width: 7, number: true, value: (row) => row.words, cell: (row) => formatScore(row.words) });
  if (found.metric) columns.push({ id: "spread", head: `${found.metric}, spread`, title: "Largest value minus smallest", width: 8, number: true, value: (row) => row.spread, cell: (row) => formatScore(row.spread) });
  for (const [at, run] of found.runs.entries()) {
    // Masks are no words: without scores there is nothing to tell of a run.
    if (!some((row) => Boolean(row.answers[at]) || typeof row.values[at] === "number" || row.states[at] !== "read")) continue;
    columns.push({
      id: `run${at}`,
      head: names[at] ?? run,
      width: 10,
      value: (row) => row.answers[at] ?? row.values[at] ?? null,
      cell: (row) => <RunCell row={row} at={at} />,
    });
  }
  const usual = masks || some((row) => row.apart !== null) ? "-apart" : found.metric ? "-spread" : "";
  return (
    <Sheet title="Largest disagreements">
      <p class="quiet-text">
        Distance: {found.rule}
        {found.runs.length > 2 && !masks ? "; the mean over all pairs" : ""}.
        {far && far.done < far.of ? ` Measured: ${far.done} of ${far.of} cases.` : ""}{runs.length > MOST ? ` Of the first ${MOST} runs.` : ""}
      </p>
      <RowTable
        label="Disagreements"
        name="disagreements"
        columns={columns}
        rows={found.rows}
        keyOf={(row) => row.case}
        usual={usual}
        query="disagree"
        tools={
          <>
            {some((row) => row.differ !== null) ? <span class="quiet-text">{found.rows.filter((row) => row.differ).length.toLocaleString("en")} answered differently</span> : null}
            {shelf.rights.truth && metric ? (
              <button type="button" aria-pressed={open} onClick={() => setTruth(open ? "" : "1")}>
                {open ? "Hide scores" : "Show scores"}
              </button>
            ) : null}
          </>
        }
      />
    </Sheet>
  );
}

function RunCell({ row, at }: { row: Row; at: number }) {
  const state = row.states[at];
  if (state !== "read") return <Tag kind="warn">{state}</Tag>;
  const answer = row.answers[at];
  const value = row.values[at];
  return (
    <>
      {answer ? <span title={answer}>{answer}</span> : null} {value !== null && value !== undefined ? <span class="quiet-text">{formatScore(value)}</span> : null}
    </>
  );
}
