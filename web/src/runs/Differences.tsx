// Each run minus the baseline on the same cases, and on how many cases who is right.
import { ChartFrame } from "../charts/ChartFrame";
import { IntervalPlot } from "../charts/IntervalPlot";
import { Sheet } from "../kit/kit";
import { Link } from "../router";
import { compareUrl } from "./links";
import { Change } from "./Num";
import { formatP, formatSigned } from "../kit/numbers";
import type { Comparison } from "./CompareView";

export default function Differences({ found }: { found: Comparison }) {
  const nameOf = (id: string) => found.runs.find((run) => run.id === id)?.name ?? id;
  const baseline = nameOf(found.baseline);
  const apart = Object.entries(found.differences);
  const better = found.metrics.find((one) => one.name === found.metric)?.better ?? "higher";
  const sides: [string, string] = better === "higher" ? [`${baseline} is better`, `${baseline} is worse`] : [`${baseline} is worse`, `${baseline} is better`];
  const notes = [...new Set(apart.flatMap(([, own]) => own.notes))];
  const title = `${found.metric}: each run minus ${baseline}`;
  return (
    <div class="runs-two">
      <Sheet>
        <ChartFrame
          title={title}
          name={`differences-${found.metric}`}
          about="Paired, over whole patients; p is the share of swaps of the two runs within patients that give as large a difference. An interval that does not include 0 is a significant difference."
          table={{
            columns: ["run", "difference", "low", "high", "p", "value", "baseline"],
            rows: apart.map(([run, own]) => [nameOf(run), own.difference.value, own.difference.low, own.difference.high, own.p, own.first, own.second]),
          }}
        >
          {(width) => (
            <IntervalPlot
              width={width}
              label={title}
              axis={`difference in ${found.metric}`}
              line={0}
              sides={sides}
              rows={apart.map(([run, own]) => ({ label: nameOf(run), value: own.difference.value, low: own.difference.low, high: own.difference.high, text: formatSigned(own.difference.value) }))}
            />
          )}
        </ChartFrame>
      </Sheet>
      <Sheet title={`Differences from ${baseline}`}>
        <div class="scrolls" tabIndex={0} role="region" aria-label="Differences">
          <table>
            <thead>
              <tr>
                <th scope="col">Run</th>
                <th scope="col">Difference</th>
                <th scope="col" class="number">
                  p
                </th>
                {Object.keys(found.mcnemar).length ? (
                  <>
                    <th scope="col" class="number" title="Cases that this run has right and the baseline wrong">
                      Only this run right
                    </th>
                    <th scope="col" class="number" title="Cases that the baseline has right and this run wrong">
                      Only baseline right
                    </th>
                    <th scope="col" class="number">
                      Both / neither
                    </th>
                    <th scope="col" class="number">
                      McNemar's p
                    </th>
                    <th scope="col" class="number" title="McNemar's test, what is as extreme as the counts taken by half">
                      Mid-p
                    </th>
                  </>
                ) : null}
              </tr>
            </thead>
            <tbody>
              {apart.map(([run, own]) => {
                const test = found.mcnemar[run];
                return (
                  <tr key={run}>
                    <th scope="row">{nameOf(run)}</th>
                    <td class="runs-span">
                      <Change
                        of={own.difference}
                        around={(value) => (
                          <Link
                            href={compareUrl([found.baseline, run], { baseline: found.baseline, metric: found.metric, disagree: "-spread", truth: "1" })}
                            aria-label={`${nameOf(run)} ${value}: the cases where the two are furthest apart`}
                          >
                            {value}
                          </Link>
                        )}
                      />
                    </td>
                    <td class="number">{formatP(own.p)}</td>
                    {test ? (
                      <>
                        <td class="number">{test.this_only.toLocaleString("en")}</td>
                        <td class="number">{test.baseline_only.toLocaleString("en")}</td>
                        <td class="number">
                          {test.both.toLocaleString("en")} / {test.neither.toLocaleString("en")}
                        </td>
                        <td class="number">{formatP(test.exact_p)}</td>
                        <td class="number">{formatP(test.mid_p)}</td>
                      </>
                    ) : null}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
        {notes.map((note) => (
          <p key={note} class="quiet-text">
            {note}
          </p>
        ))}
      </Sheet>
    </div>
  );
}
