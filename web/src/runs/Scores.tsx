// The scorecard: numbers with intervals; each leads to the cases behind it.
import type { Schemas } from "../api/client";
import { ChartFrame } from "../charts/ChartFrame";
import { IntervalPlot } from "../charts/IntervalPlot";
import { csvOf } from "../charts/csv";
import { fileName, saveText } from "../charts/save_files";
import { Sheet, Tag } from "../kit/kit";
import { Link } from "../router";
import { runCasesUrl } from "./links";
import { ARROWS, formatInterval, formatCount, formatScore, formatValue } from "../kit/numbers";
import { Num } from "./Num";
import { Reasons } from "./Reasons";
import type { Scorecard, RunStatus } from "./RunView";

type Score = Schemas["CardScore"];

export default function Scores({ run, card }: { run: RunStatus; card: Scorecard }) {
  const plain = card.scores.filter((score) => !score.twin);
  const named = new Map(card.scores.map((score) => [score.name, score]));
  const shares = plain.filter((score) => score.value !== null && score.value >= 0 && (score.high ?? score.value) <= 1);
  const level = `${Math.round(card.level * 100)} %`;
  return (
    <div class="stack">
      <div class="row">
        <span>{formatCount(card.cases, "case")}</span>
        {card.missing ? <Tag kind="bad">{card.missing.toLocaleString("en")} missing</Tag> : null}
        {card.failed ? <Tag kind="bad">{card.failed.toLocaleString("en")} failed {card.failed === 1 ? "case" : "cases"}</Tag> : null}
        {card.not_judged ? <Tag kind="bad">{card.not_judged.toLocaleString("en")} not judged</Tag> : null}
        <span class="quiet-text">
          {card.draws ? `intervals: ${level}, over whole patients` : "without intervals"}
        </span>
      </div>
      <div class="runs-two">
        <Sheet
          title="Scores"
          tools={
            <button type="button" aria-label="Save the scores as CSV" onClick={() => saveText(`${fileName(run.name, "scores")}.csv`, csvOfScores(card.scores), "text/csv")}>
              CSV
            </button>
          }
        >
          <ScoreTable run={run} scores={plain} named={named} />
        </Sheet>
        {shares.length ? (
          <Sheet>
            <ChartFrame
              title={`Scores of ${run.name}`}
              about="Those that lie between 0 and 1; circles are the benchmark's own. ↑ higher is better, ↓ lower is better."
              name={`${run.name}-scores`}
              table={{ columns: ["score", "better", "value", "low", "high", "n"], rows: shares.map((s) => [s.name, s.better, s.value, s.low, s.high, s.n]) }}
            >
              {(width) => (
                <IntervalPlot
                  width={width}
                  label={`Scores of ${run.name}`}
                  axis={card.draws ? `value with its ${level} interval` : "value"}
                  domain={[0, 1]}
                  rows={shares.map((score) => ({
                    label: `${score.name} ${ARROWS[score.better]}`,
                    value: score.value,
                    low: score.low ?? null,
                    high: score.high ?? null,
                    text: formatValue(score),
                    series: score.official ? 0 : 2,
                  }))}
                />
              )}
            </ChartFrame>
          </Sheet>
        ) : null}
      </div>
      <Reasons title={`Not scored: ${formatCount(Object.keys(card.not_attempted).length, "metric")}`} reasons={card.not_attempted} />
      <p class="quiet-text">{card.short}</p>
    </div>
  );
}

function csvOfScores(scores: Score[]): string {
  return csvOf(
    ["score", "better", "value", "low", "high", "n", "official", "about", "held to"],
    scores.map((s) => [s.name, s.better, s.value, s.low, s.high, s.n, s.official, s.about, s.reference]),
  );
}

function ScoreTable({ run, scores, named }: { run: RunStatus; scores: Score[]; named: Map<string, Score> }) {
  // Where nothing is missing the two rules give the same.
  const honest = scores.some((score) => {
    const other = named.get(`honest_${score.name}`);
    return other !== undefined && other.value !== score.value;
  });
  const ceiling = scores.some((score) => named.has(`ceiling_${score.name}`));
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Scores">
      <table class="runs-scores">
        <thead>
          <tr>
            <th scope="col">Score</th>
            <th scope="col" class="number">
              {honest ? "Official" : "Value"}
            </th>
            <th scope="col">Interval</th>
            {honest ? (
              <th scope="col" title="The same score with missing readings counted as worst">
                Missing = worst
              </th>
            ) : null}
            {ceiling ? (
              <th scope="col" class="number" title="What a perfect reading would get">
                Ceiling
              </th>
            ) : null}
            <th scope="col" class="number">
              n
            </th>
          </tr>
        </thead>
        <tbody>
          {scores.map((score) => {
            const worst = named.get(`honest_${score.name}`);
            const best = named.get(`ceiling_${score.name}`);
            return (
              <tr key={score.name}>
                <th scope="row">
                  <span title={`${score.about}. Reference: ${score.reference}.`}>
                    {score.official ? <strong>{score.name}</strong> : score.name} <span aria-label={`${score.better} is better`}>{ARROWS[score.better]}</span>
                  </span>
                  <div class="runs-about">{score.about}</div>
                </th>
                <td class="number">
                  <Link href={runCasesUrl(run.id, score.name, score.better)} aria-label={`${score.name} ${formatValue(score)}: the cases behind it`}>
                    {formatValue(score)}
                  </Link>
                </td>
                <td class="quiet-text runs-span">{formatInterval(score)}</td>
                {honest ? (
                  <td>
                    {worst ? (
                      <Num
                        of={worst}
                        around={(value) => (
                          <Link href={runCasesUrl(run.id, worst.name, worst.better)} aria-label={`${worst.name} ${value}: the cases behind it`}>
                            {value}
                          </Link>
                        )}
                      />
                    ) : null}
                  </td>
                ) : null}
                {ceiling ? <td class="number">{best ? formatScore(best.value) : ""}</td> : null}
                <td class="number">{score.n.toLocaleString("en")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
