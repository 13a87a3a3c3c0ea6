// Is the reader right as often as it is sure?
import { type Schemas, apiUrl, useApi } from "../api/client";
import { ChartFrame } from "../charts/ChartFrame";
import { Curve } from "../charts/Curve";
import { Histogram } from "../charts/Histogram";
import { Loading, Empty, Sheet, ErrorBox } from "../kit/kit";
import { Link } from "../router";
import { useShelf } from "../shelf";
import { runCasesUrl, tabUrl } from "./links";
import { Num } from "./Num";
import { ARROWS, formatCount, formatScore } from "../kit/numbers";
import type { RunStatus } from "./RunView";

type CalibrationData = Schemas["Calibration"];

export default function Calibration({ run }: { run: RunStatus }) {
  const { shelf } = useShelf();
  const asked = useApi<CalibrationData>(shelf.rights.truth ? apiUrl(["runs", run.id, "calibration"]) : null);
  if (!shelf.rights.truth) return <Empty title="Calibration needs the truth, which is withheld on this page" />;
  if (!asked.data) {
    if (asked.problem?.status === 404) return <Empty title="No reading of this run has probabilities" />;
    return asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : <Loading what="the calibration" />;
  }
  const found = asked.data;
  const rows = found.bins.map((bin) => [bin.low, bin.high, bin.n, bin.confidence, bin.right.value, bin.right.low, bin.right.high]);
  const table = { columns: ["confidence from", "to", "n", "mean confidence", "right", "low", "high"], rows };
  const width = (found.bins[0]?.high ?? 1) - (found.bins[0]?.low ?? 0);
  const bars = Array.from({ length: Math.round(1 / width) }, (_, at) => ({
    low: at * width,
    high: (at + 1) * width,
    n: found.bins.find((bin) => Math.abs(bin.low - at * width) < 1e-9)?.n ?? 0,
  }));
  return (
    <div class="stack">
      <div class="row">
        {found.scores.map((score) => (
          <span key={score.name} title={score.about}>
            {score.name} {ARROWS[score.better]}{" "}
            <Num
              of={score}
              around={(value) => (
                <Link href={runCasesUrl(run.id, score.name, score.better)} aria-label={`${score.name} ${value}: the cases behind it`}>
                  {value}
                </Link>
              )}
            />
          </span>
        ))}
        {found.without ? <span class="quiet-text">{formatCount(found.without, "case")} without probabilities count as confident and wrong, and are not charted</span> : null}
      </div>
      <div class="runs-two">
        <Sheet>
          <ChartFrame title={`Calibration of ${run.name}`} name={`${run.name}-calibration`} about="Points on the dashed line are perfectly calibrated; points below it are overconfident." table={table}>
            {(size) => (
              <Curve
                width={size}
                label={`Calibration of ${run.name}`}
                across="confidence in the most likely option"
                up="share that is right"
                diagonal
                domain={{ x: [0, 1], y: [0, 1] }}
                lines={[{ name: run.name, dots: found.bins.map((bin) => ({ x: bin.confidence, y: bin.right.value ?? 0, low: bin.right.low ?? null, high: bin.right.high ?? null })) }]}
              />
            )}
          </ChartFrame>
        </Sheet>
        <div class="stack">
        <Sheet>
          <ChartFrame title={`Confidence of ${run.name}`} name={`${run.name}-confidence`} table={{ columns: ["confidence from", "to", "cases"], rows: bars.map((bar) => [bar.low, bar.high, bar.n]) }}>
            {(size) => <Histogram width={size} label={`Confidence of ${run.name}`} bars={bars} across="confidence in the most likely option" up="cases" />}
          </ChartFrame>
        </Sheet>
        <Sheet title="Bins of confidence">
        <div class="scrolls" tabIndex={0} role="region" aria-label="Bins of confidence">
          <table>
            <thead>
              <tr>
                <th scope="col">Confidence</th>
                <th scope="col" class="number">
                  Cases
                </th>
                <th scope="col" class="number">
                  Mean
                </th>
                <th scope="col">Right</th>
              </tr>
            </thead>
            <tbody>
              {found.bins.map((bin) => (
                <tr key={bin.low}>
                  <th scope="row">
                    {bin.low.toFixed(2)} – {bin.high.toFixed(2)}
                  </th>
                  <td class="number">
                    <Link href={tabUrl(run.id, "cases", { sure: `${bin.low}-${bin.high}`, metric: "accuracy", truth: "1" })} aria-label={`${bin.n.toLocaleString("en")} cases of confidence ${bin.low.toFixed(2)} to ${bin.high.toFixed(2)}`}>
                      {bin.n.toLocaleString("en")}
                    </Link>
                  </td>
                  <td class="number">{formatScore(bin.confidence)}</td>
                  <td>
                    <Num of={bin.right} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Sheet>
      </div>
      </div>
    </div>
  );
}
