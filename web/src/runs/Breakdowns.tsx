// Scores over groups of the cases: one property at a time.
import { type Schemas, apiUrl, useApi } from "../api/client";
import { ChartFrame } from "../charts/ChartFrame";
import { IntervalPlot } from "../charts/IntervalPlot";
import { csvOf } from "../charts/csv";
import { fileName, saveText } from "../charts/save_files";
import { Loading, Empty, Field, Sheet, ErrorBox } from "../kit/kit";
import { Link, useQuery } from "../router";
import { useShelf } from "../shelf";
import { runCasesUrl } from "./links";
import { Num } from "./Num";
import { ARROWS } from "../kit/numbers";
import type { Scorecard, RunStatus } from "./RunView";

type Breakdown = Schemas["ScoreBreakdown"];
const FEW = 4;

export default function Breakdowns({ run, card }: { run: RunStatus; card: Scorecard }) {
  const { shelf } = useShelf();
  const asked = useApi<Breakdown[]>(shelf.rights.truth ? apiUrl(["runs", run.id, "breakdowns"]) : null);
  const [by, setBy] = useQuery("by");
  const [metric, setMetric] = useQuery("metric");
  if (!shelf.rights.truth) return <Empty title="Breakdowns need the truth, which is withheld on this page" />;
  if (!asked.data) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the breakdowns" />;
  const found = asked.data.find((one) => one.name === by) ?? asked.data[0];
  if (!found) return <Empty title="The cases of this run have no groups" />;
  const there = card.scores.filter((score) => found.groups.some((group) => score.name in group.scores));
  const plain = there.filter((score) => !score.twin);
  const headline = plain.find((score) => score.official) ?? plain[0] ?? there[0];
  const chosen = there.find((score) => score.name === metric) ?? headline;
  if (!chosen) return <Empty title="No score has breakdowns" />;
  const beside = [chosen, ...plain.filter((score) => score !== chosen && (score.official || !card.scores.some((s) => s.official)))].slice(0, FEW);
  const rows = found.groups.map((group) => ({ group, score: group.scores[chosen.name] }));
  return (
    <div class="stack">
      <div class="row">
        <Field label="By">
          <select value={found.name} onChange={(event) => setBy(event.currentTarget.value)}>
            {asked.data.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Score">
          <select value={chosen.name} onChange={(event) => setMetric(event.currentTarget.value)}>
            {there.map((score) => (
              <option key={score.name} value={score.name}>
                {score.name} {ARROWS[score.better]}
              </option>
            ))}
          </select>
        </Field>
        <span class="quiet-text">{found.about}</span>
      </div>
      <div class="runs-two">
        <Sheet
          title={`By ${found.name}`}
          tools={
            <button
              type="button"
              aria-label={`Save by ${found.name} as CSV`}
              onClick={() =>
                saveText(
                  `${fileName(run.name, "by", found.name)}.csv`,
                  csvOf(
                    [found.name, "score", "value", "low", "high", "n"],
                    found.groups.flatMap((group) => Object.entries(group.scores).map(([name, s]) => [group.label, name, s.value, s.low, s.high, s.n])),
                  ),
                  "text/csv",
                )
              }
            >
              CSV
            </button>
          }
        >
          <GroupTable run={run} found={found} scores={beside} />
        </Sheet>
        <Sheet>
          <ChartFrame
            title={`${chosen.name} by ${found.name}`}
            name={`${run.name}-${chosen.name}-by-${found.name}`}
            about={`${chosen.about}; ${chosen.better} is better`}
            table={{ columns: [found.name, "value", "low", "high", "n"], rows: rows.map(({ group, score }) => [group.label, score?.value, score?.low, score?.high, score?.n]) }}
          >
            {(width) => (
              <IntervalPlot
                width={width}
                label={`${chosen.name} by ${found.name}`}
                axis={`${chosen.name} (${chosen.better} is better)`}
                rows={[
                  { label: "all", value: chosen.value, low: chosen.low ?? null, high: chosen.high ?? null, text: `n ${chosen.n.toLocaleString("en")}`, series: 2 },
                  ...rows.map(({ group, score }) => ({
                    label: group.label,
                    value: score?.value ?? null,
                    low: score?.low ?? null,
                    high: score?.high ?? null,
                    text: score ? `n ${score.n.toLocaleString("en")}` : "",
                  })),
                ]}
              />
            )}
          </ChartFrame>
        </Sheet>
      </div>
    </div>
  );
}

function GroupTable({ run, found, scores }: { run: RunStatus; found: Breakdown; scores: Scorecard["scores"] }) {
  const { shelf } = useShelf();
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={`Scores by ${found.name}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">{found.name}</th>
            <th scope="col" class="number">
              n
            </th>
            {scores.map((score) => (
              <th key={score.name} scope="col">
                {score.name} {ARROWS[score.better]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.groups.map((group) => (
            <tr key={group.name}>
              <th scope="row">{group.label}</th>
              <td class="number">{(group.scores[scores[0]?.name ?? ""]?.n ?? group.n).toLocaleString("en")}</td>
              {scores.map((score) => {
                const own = group.scores[score.name];
                // Which cases are in a group is truth.
                return (
                  <td key={score.name} class="runs-span">
                    <Num
                      of={own}
                      around={(value) =>
                        own && shelf.rights.truth ? (
                          <Link
                            href={runCasesUrl(run.id, score.name, score.better, { breakdown: found.name, group: group.name })}
                            aria-label={`${score.name} of ${group.label} ${value}: the cases behind it`}
                          >
                            {value}
                          </Link>
                        ) : (
                          value
                        )
                      }
                    />
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
