// Scores of several runs beside each other, and one of them drawn.
import { ChartFrame } from "../charts/ChartFrame";
import { IntervalPlot } from "../charts/IntervalPlot";
import { csvOf } from "../charts/csv";
import { saveText } from "../charts/save_files";
import { Sheet } from "../kit/kit";
import { Link, to, useQuery } from "../router";
import { runCasesUrl } from "./links";
import { Num } from "./Num";
import { ARROWS, formatValue } from "../kit/numbers";
import type { Comparison } from "./CompareView";

export default function ComparedScores({ found }: { found: Comparison }) {
  const [all, setAll] = useQuery("all");
  const chosen = found.metrics.find((one) => one.name === found.metric);
  const lacking = found.runs.some((run) => run.missing || run.failed);
  // Where something is missing the official numbers are of different cases: the honest ones belong beside them.
  const plain = found.metrics.filter((one) => !one.twin || (lacking && one.name.startsWith("honest_")));
  const shown = all ? plain : plain.filter((one, at) => one.official || one.name === found.metric || at < 6);
  const score = (run: string, name: string) => found.scores[run]?.[name] ?? null;
  return (
    <div class="runs-two">
      <Sheet>
        <ChartFrame
          title={`${found.metric} of ${found.runs.length} runs`}
          name={`compare-${found.metric}`}
          about={chosen ? `${chosen.about}; ${chosen.better} is better` : ""}
          table={{
            columns: ["run", "value", "low", "high", "n"],
            rows: found.runs.map((run) => {
              const own = score(run.id, found.metric);
              return [run.name, own?.value, own?.low, own?.high, own?.n];
            }),
          }}
        >
          {(width) => (
            <IntervalPlot
              width={width}
              label={`${found.metric} of ${found.runs.length} runs`}
              axis={`${found.metric} (${chosen?.better ?? "higher"} is better), ${Math.round(found.level * 100)} % intervals`}
              rows={found.runs.map((run) => {
                const own = score(run.id, found.metric);
                return { label: run.name, value: own?.value ?? null, low: own?.low, high: own?.high, text: formatValue(own), series: run.id === found.baseline ? 2 : 0 };
              })}
            />
          )}
        </ChartFrame>
      </Sheet>
      <Sheet
        title="Scores"
        tools={
          <>
            {plain.length > shown.length || all ? (
              <button type="button" aria-pressed={Boolean(all)} onClick={() => setAll(all ? "" : "1")}>
                All {plain.length}
              </button>
            ) : null}
            <button
              type="button"
              aria-label="Save the scores as CSV"
              onClick={() =>
                saveText(
                  "compare-scores.csv",
                  csvOf(
                    ["run", "score", "better", "value", "low", "high", "n"],
                    found.runs.flatMap((run) => found.metrics.map((one) => [run.name, one.name, one.better, ...Object.values(pick(score(run.id, one.name)))])),
                  ),
                  "text/csv",
                )
              }
            >
              CSV
            </button>
          </>
        }
      >
        <div class="scrolls" tabIndex={0} role="region" aria-label="Scores of all runs">
          <table>
            <thead>
              <tr>
                <th scope="col">Score</th>
                {found.runs.map((run) => (
                  <th key={run.id} scope="col">
                    <Link href={to("runs", run.id)}>{run.name}</Link>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <tr key={one.name}>
                  <th scope="row">
                    <span title={one.about}>
                      {one.name} <span aria-label={`${one.better} is better`}>{ARROWS[one.better]}</span>
                    </span>
                  </th>
                  {found.runs.map((run) => (
                    <td key={run.id}>
                      <Num
                        of={score(run.id, one.name)}
                        around={(value) => (
                          <Link href={runCasesUrl(run.id, one.name, one.better)} aria-label={`${one.name} of ${run.name} ${value}: the cases behind it`}>
                            {value}
                          </Link>
                        )}
                      />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Sheet>
    </div>
  );
}

function pick(own: Comparison["scores"][string][string] | null) {
  return { value: own?.value, low: own?.low, high: own?.high, n: own?.n };
}
