// The cases behind a number of a build: who came to a step, who went on, who did not and why.
import { apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Tag, ErrorBox } from "../kit/kit";
import { Link, to, useAddress } from "../router";
import type { ViewProps } from "../routes";
import { type Column, RowTable } from "../runs/RowTable";
import { useBuildName } from "../shelf";
import { historyUrl } from "./links";
import { OUTCOME_TAGS } from "./outcomes";
import type { BuildCase } from "./types";

export default function BuildCases({ parts }: ViewProps) {
  const build = parts.build ?? "";
  const { query } = useAddress();
  const [step, outcome, reason] = ["step", "outcome", "reason"].map((name) => query.get(name) ?? undefined);
  const name = useBuildName(build);
  const asked = useApi<BuildCase[]>(apiUrl(["builds", build, "cases"], { step, outcome, reason }));
  const title = step ? `Cases that ${outcome ? `${DONE[outcome] ?? outcome} at` : "reached"} ${step}` : "Status of every case";
  const columns: Column<BuildCase>[] = [
    { id: "case", head: "Case", width: 13, value: (row) => row.case, cell: (row) => <Link href={historyUrl(build, row.case)}>{row.case}</Link> },
    { id: "patient", head: "Patient", width: 9, value: (row) => row.patient, hidden: !(asked.data ?? []).some((row) => row.patient) },
    { id: "step", head: "Step", width: 9, value: (row) => row.step, hidden: step !== undefined },
    { id: "outcome", head: "Outcome", width: 8, value: (row) => row.outcome, cell: (row) => <Outcome row={row} /> },
    { id: "reason", head: "Reason", width: 10, value: (row) => row.reason },
    { id: "why", head: "Explanation", width: 24, value: (row) => row.why, cell: (row) => <span title={row.why}>{row.why}</span> },
    { id: "by", head: "By", width: 8, value: (row) => row.by },
    { id: "changes", head: "Changes", width: 6, number: true, value: (row) => row.changes },
  ];
  return (
    <div class="stack">
      <Crumbs trail={[{ text: name, href: to("builds", build) }, { text: "Cases" }]} />
      <h1 style={{ margin: 0 }}>{title}</h1>
      {reason ? (
        <p class="row">
          Only <Tag>{reason}</Tag>
        </p>
      ) : null}
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {asked.data ? (
        <RowTable label={title} name="cases-of-the-build" columns={columns} rows={asked.data} keyOf={(row) => row.case} />
      ) : asked.problem ? null : (
        <Loading what="the cases" />
      )}
    </div>
  );
}

/** Kept by one step is not through yet, where others follow. */
function Outcome({ row }: { row: BuildCase }) {
  if (!row.step) return <Tag>not started</Tag>;
  return row.goes_on ? <Tag>kept so far</Tag> : <Tag kind={OUTCOME_TAGS[row.outcome] ?? ""}>{row.outcome}</Tag>;
}

const DONE: Record<string, string> = { kept: "were kept", dropped: "were dropped", waiting: "are waiting", failed: "failed" };
