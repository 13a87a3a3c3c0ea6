// A sweep: each metric over what was varied, with the run behind each point.
import { type Schemas, apiUrl, useApi } from "../api/client";
import { ChartFrame } from "../charts/ChartFrame";
import { Curve } from "../charts/Curve";
import { Crumbs } from "../crumbs";
import { Loading, Sheet, Tag, ErrorBox } from "../kit/kit";
import { Link, to } from "../router";
import type { ViewProps } from "../routes";
import { runCasesUrl } from "./links";
import { Change, Num } from "./Num";
import { formatCount, formatP } from "../kit/numbers";
import { linesOf } from "./sweep_lines";
import "./runs.css";

type SweepResult = Schemas["SweepTable"];

export default function SweepView({ parts }: ViewProps) {
  const id = parts["sweep"] ?? "";
  const asked = useApi<SweepResult>(apiUrl(["sweeps", id]), 15_000);
  if (!asked.data) return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the sweep" />;
  const found = asked.data;
  return (
    <div class="stack runs-view">
      <Crumbs trail={[{ text: found.name }]} />
      <div class="row">
        <h1 style={{ margin: 0 }}>{found.name}</h1>
        {found.benchmark ? (
          <Tag>
            {found.benchmark} {found.split}
          </Tag>
        ) : null}
        {found.reader ? <Tag>{found.reader}</Tag> : null}
        {found.complete ? <Tag kind="good">complete</Tag> : <Tag kind="warn">{`${found.points.length} of ${formatCount(found.total, "point")}`}</Tag>}
        <span class="quiet-text">{found.axes.map((axis) => `${axis.name}: ${axis.values.join(", ")}`).join(" · ")}</span>
      </div>
      {found.metrics.map((metric) => (
        <Metric key={metric} found={found} metric={metric} />
      ))}
      {Object.entries(found.not_compared).map(([metric, why]) => (
        <p key={metric} class="quiet-text">
          {metric} has no differences: {why}
        </p>
      ))}
    </div>
  );
}

function Metric({ found, metric }: { found: SweepResult; metric: string }) {
  const { along, lines, words } = linesOf(found, metric);
  const better = found.points.map((point) => point.scores[metric]?.better).find(Boolean) ?? "higher";
  const agreeing = found.points.some((point) => point.agreement);
  const across = along?.name === "image_ratio" ? "image_ratio (% of each case's pictures)" : (along?.name ?? "");
  return (
    <div class="runs-two">
      <Sheet>
        <ChartFrame
          title={`${metric} by ${along?.name ?? ""}`}
          name={`${found.name}-${metric}`}
          about={found.points[0]?.scores[metric]?.about}
          table={{
            columns: [...found.axes.map((axis) => axis.name), "value", "low", "high", "n"],
            rows: found.points.map((point) => {
              const own = point.scores[metric];
              return [...found.axes.map((axis) => point.values[axis.name]), own?.value, own?.low, own?.high, own?.n];
            }),
          }}
        >
          {(width) => <Curve width={width} label={`${metric} by ${along?.name}`} across={across} up={`${metric} (${better} is better)`} lines={lines} {...(words ? { words } : {})} />}
        </ChartFrame>
      </Sheet>
      <Sheet title={`Points, each against ${found.first ?? "the first"}`}>
        <div class="scrolls" tabIndex={0} role="region" aria-label={`Points of ${metric}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Point</th>
                <th scope="col">{metric}</th>
                <th scope="col">Difference</th>
                <th scope="col" class="number">
                  p
                </th>
                {agreeing ? <th scope="col">Agreement</th> : null}
                <th scope="col" class="number">
                  Readings
                </th>
              </tr>
            </thead>
            <tbody>
              {found.points.map((point) => {
                const own = point.scores[metric];
                const apart = point.differences[metric];
                return (
                  <tr key={point.name}>
                    <th scope="row">{point.run ? <Link href={to("runs", point.run)}>{point.name}</Link> : point.name}</th>
                    <td>
                      {own ? (
                        <Num
                          of={own}
                          around={(value) =>
                            point.run ? (
                              <Link href={runCasesUrl(point.run, metric, own.better)} aria-label={`${metric} of ${point.name} ${value}: the cases behind it`}>
                                {value}
                              </Link>
                            ) : (
                              value
                            )
                          }
                        />
                      ) : (
                        point.not_scored[metric]
                      )}
                    </td>
                    <td>{apart ? <Change of={apart.difference} /> : ""}</td>
                    <td class="number">{apart ? formatP(apart.p) : ""}</td>
                    {agreeing ? <td>{point.agreement ? <Num of={point.agreement} /> : ""}</td> : null}
                    <td class="number">
                      {point.readings.toLocaleString("en")}
                      {point.failed ? `, ${point.failed} failed ${point.failed === 1 ? "reading" : "readings"}` : ""}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      </Sheet>
    </div>
  );
}
