// The audit of a run: do its answers move when what they cite is hidden?
import { type Schemas, apiUrl, useApi } from "../api/client";
import { ChartFrame } from "../charts/ChartFrame";
import { IntervalPlot } from "../charts/IntervalPlot";
import { Loading, Empty, Sheet, ErrorBox } from "../kit/kit";
import { Link } from "../router";
import { traceUrl } from "./links";
import { Change, Num } from "./Num";
import { byReason, formatCount, formatScore, formatSignedWithInterval, formatWithInterval } from "../kit/numbers";
import { type Column, RowTable } from "./RowTable";
import type { RunStatus } from "./RunView";

type AuditResult = Schemas["AuditResult"];
type Shares = Schemas["SharesOfAudit"];
type Answer = Schemas["AuditedAnswer"];
const NOUNS: Record<string, string> = { box: "boxes", mask: "masks", slices: "slice ranges", whole: "whole pictures" };

export default function AuditTab({ run }: { run: RunStatus }) {
  const asked = useApi<AuditResult>(run.audited ? apiUrl(["runs", run.id, "audit"]) : null);
  if (!run.audited)
    return (
      <Empty title="This run was not audited">
        <p style={{ margin: "0 auto" }}>
          <code>overread audit</code> repeats every question with the cited regions hidden and reports how many answers rest on them.
        </p>
      </Empty>
    );
  if (!asked.data) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the audit" />;
  const found = asked.data;
  return (
    <div class="stack">
      <Sheet title="Do the answers rest on what they cite?">
        {found.shares?.rests ? (
          <p class="runs-headline">
            <strong>{formatWithInterval(found.shares.rests)}</strong> of {formatCount(found.shares.rests.n, "answer")} rest on the cited evidence.
          </p>
        ) : (
          <p>Nothing was left to compare with, so that no answer can be said to rest on what it cites.</p>
        )}
        {found.shares?.rests_on_shown ? (
          <p>
            Hiding it moves {formatWithInterval(found.shares.rests_on_shown)} of {formatCount(found.shares.rests_on_shown.n, "answer")}, beyond the null arm.
          </p>
        ) : null}
        <p class="quiet-text">
          {found.audited.toLocaleString("en")} of {formatCount(found.readings, "reading")} audited. Cited: {Object.entries(found.cited).map(([kind, n]) => `${n.toLocaleString("en")} ${NOUNS[kind] ?? kind}`).join(", ") || "nothing"}.
          {found.null_equal !== null ? ` Asked again unchanged, ${found.null_equal.toLocaleString("en")} say the same word for word.` : ""} The share is {found.rests_is}.
        </p>
        {found.rules.map((rule) => (
          <p key={rule} class="quiet-text">
            Counted as moved: {rule}.
          </p>
        ))}
      </Sheet>
      {found.shares ? <Arms run={run} found={found} shares={found.shares} title="Answers that moved, by arm" /> : null}
      {found.shares_uncited ? <Arms run={run} found={found} shares={found.shares_uncited} title="Answers that cite nothing, all their pictures hidden" /> : null}
      <Answers run={run} found={found} />
      <LeftOut found={found} />
    </div>
  );
}

function Arms({ run, found, shares, title }: { run: RunStatus; found: AuditResult; shares: Shares; title: string }) {
  const arms = Object.entries(shares.arms);
  const failed = Object.values(found.arms_failed).some(Boolean);
  return (
    <div class="runs-two">
      <Sheet title={title}>
        <div class="scrolls" tabIndex={0} role="region" aria-label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">Arm</th>
                <th scope="col" class="number">
                  Answers
                </th>
                <th scope="col">Moved</th>
                <th scope="col">Beyond the null</th>
                <th scope="col">How far</th>
                {failed ? (
                  <th scope="col" class="number">
                    Failed
                  </th>
                ) : null}
              </tr>
            </thead>
            <tbody>
              {arms.map(([arm, own]) => (
                <tr key={arm}>
                  <th scope="row">
                    {arm}
                    <div class="runs-about">{found.arms[arm]}</div>
                  </th>
                  <td class="number">{own.moved.n.toLocaleString("en")}</td>
                  <td title={own.moved.note}>
                    <Num of={own.moved} />
                  </td>
                  <td>{own.moved_beyond ? <Change of={own.moved_beyond.difference} /> : ""}</td>
                  <td>
                    <Num of={own.far} />
                  </td>
                  {failed ? <td class="number">{found.arms_failed[arm] ?? 0}</td> : null}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {shares.cited_over_other_moved ? <p>Cited hidden minus other hidden: {formatSignedWithInterval(shares.cited_over_other_moved.difference)} moved.</p> : null}
      </Sheet>
      <Sheet>
        <ChartFrame
          title={`Share of answers that moved, ${run.name}`}
          name={`${run.name}-audit`}
          table={{ columns: ["arm", "moved", "low", "high", "answers"], rows: arms.map(([arm, own]) => [arm, own.moved.value, own.moved.low, own.moved.high, own.moved.n]) }}
        >
          {(width) => (
            <IntervalPlot
              width={width}
              label={title}
              axis="share of answers that moved"
              domain={[0, 1]}
              rows={arms.map(([arm, own]) => ({ label: found.arms[arm] || arm, value: own.moved.value, low: own.moved.low, high: own.moved.high, text: formatScore(own.moved.value), series: arm === "null" ? 2 : 0 }))}
            />
          )}
        </ChartFrame>
      </Sheet>
    </div>
  );
}

function Answers({ run, found }: { run: RunStatus; found: AuditResult }) {
  const arms = Object.keys(found.arms);
  const columns: Column<Answer>[] = [
    { id: "case", head: "Case", width: 13, value: (row) => row.case, cell: (row) => <Link href={traceUrl(run.id, row.case)}>{row.case}</Link> },
    ...(found.answers.some((row) => row.query !== null) ? [{ id: "query", head: "Sentence", width: 6, value: (row: Answer) => row.query }] : []),
    { id: "cites", head: "Cites", width: 6, value: (row) => (row.cites ? "yes" : "nothing") },
    ...arms.map((arm): Column<Answer> => ({
      id: arm,
      head: arm,
      title: found.arms[arm] ?? arm,
      width: 9,
      number: true,
      value: (row) => row.arms[arm]?.far,
      cell: (row) => {
        const own = row.arms[arm];
        if (!own) return <span title={found.without[arm]?.[row.case] ?? ""}>–</span>;
        return (
          <>
            {formatScore(own.far)} {own.moved ? <strong>moved</strong> : <span class="quiet-text">same</span>}
          </>
        );
      },
    })),
  ];
  return (
    <Sheet title="Answer by answer: how far each moved, from 0 to 1">
      <RowTable label="Answers of the audit" name={`${run.name}-audit-answers`} columns={columns} rows={found.answers} keyOf={(row) => `${row.case} ${row.query ?? ""}`} usual={arms.includes("hidden") ? "-hidden" : ""} query="audit" />
    </Sheet>
  );
}

function LeftOut({ found }: { found: AuditResult }) {
  const lists: [string, string[]][] = [
    ["cite nothing", found.uncited],
    ["had failed, so that there is no answer to audit", found.failed],
    ...byReason(found.refused).map(([why, cases]): [string, string[]] => [`not audited: ${why}`, cases]),
    ...Object.entries(found.without).flatMap(([arm, cases]) => byReason(cases).map(([why, own]): [string, string[]] => [`without '${arm}', since ${why}`, own])),
  ];
  const some = lists.filter(([, cases]) => cases.length);
  if (!some.length) return null;
  return (
    <details class="sheet">
      <summary>Left out</summary>
      <ul>
        {some.map(([why, cases]) => (
          <li key={why}>
            {cases.length.toLocaleString("en")} {why}: <span class="quiet-text">{cases.slice(0, 40).join(", ")}{cases.length > 40 ? " …" : ""}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
