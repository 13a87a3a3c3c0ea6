// A build: how its cases went from step to step, what it cost, and what people are asked.
import { useApi, apiUrl } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Sheet, Tag, ErrorBox } from "../kit/kit";
import { formatNumber } from "../kit/numbers";
import { Link, to } from "../router";
import type { ViewProps } from "../routes";
import { useBuildName, useShelf } from "../shelf";
import { Flow } from "./Flow";
import { buildCasesUrl } from "./links";
import { People } from "./People";
import type { BuildLedger, BuildOverview } from "./types";
import "./builds.css";

export default function BuildView({ parts }: ViewProps) {
  const build = parts.build ?? "";
  const name = useBuildName(build);
  const asked = useApi<BuildOverview>(apiUrl(["builds", build]));
  return (
    <div class="stack">
      <Crumbs trail={[{ text: name }]} />
      <h1 style={{ margin: 0 }}>{name}</h1>
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {asked.data ? <BuildBody overview={asked.data} /> : asked.problem ? null : <Loading what="the build" />}
      {asked.data ? <People build={build} /> : null}
    </div>
  );
}

function BuildBody({ overview }: { overview: BuildOverview }) {
  const { shelf } = useShelf();
  const run = shelf.runs.find((one) => one.id === overview.checks);
  if (!overview.ledger)
    return run ? (
      <p>
        People check the verdicts of a judge on the run <Link href={to("runs", run.id)}>{run.name}</Link>. They get the questions that the judge
        got, and do not see its verdicts.
      </p>
    ) : (
      <p>Questions for people that belong to no build.</p>
    );
  return <Ledger build={overview.id} ledger={overview.ledger} />;
}

function Ledger({ build, ledger }: { build: string; ledger: BuildLedger }) {
  const { shelf } = useShelf();
  const release = shelf.datasets.find((one) => one.id === ledger.release);
  const split = release?.splits[0];
  return (
    <>
      <div class="row">
        <span>
          Recipe <strong>{ledger.recipe}</strong>: {ledger.items.toLocaleString("en")} cases of the source, {ledger.left.toLocaleString("en")} left at
          the end
        </span>
        {ledger.questions ? <Tag kind="warn">{`${ledger.questions.toLocaleString("en")} open questions for people`}</Tag> : null}
        {ledger.released === null || ledger.released === undefined ? (
          <Tag>no release yet</Tag>
        ) : (
          <span>
            Release of {ledger.released.toLocaleString("en")} cases, {ledger.released_at?.slice(0, 16).replace("T", " ")} UTC
            {release && split ? (
              <>
                {": "}
                <Link href={to("datasets", release.id, split)}>open it</Link>
              </>
            ) : null}
          </span>
        )}
      </div>
      <Sheet title="Cases by step" tools={shelf.rights.truth ? <Link href={buildCasesUrl(build)}>Status of every case</Link> : null}>
        <Flow build={build} items={ledger.items} steps={ledger.steps} />
        <Counts title="Source rows that could not become a case" counts={ledger.defects} />
      </Sheet>
      {ledger.spending.length ? <Spending ledger={ledger} /> : null}
    </>
  );
}

function Counts({ title, counts }: { title: string; counts: Record<string, number> }) {
  const all = Object.entries(counts);
  if (!all.length) return null;
  return (
    <p>
      {title}:{" "}
      {all.map(([code, count]) => (
        <Tag key={code} kind="warn">
          {count} {code}
        </Tag>
      ))}
    </p>
  );
}

function Spending({ ledger }: { ledger: BuildLedger }) {
  return (
    <Sheet title="Model usage">
      <div class="scrolls" tabIndex={0} role="region" aria-label="Model usage">
        <table>
          <thead>
            <tr>
              <th>model</th>
              <th class="number">answers</th>
              <th class="number">input tokens</th>
              <th class="number">output tokens</th>
              <th class="number">pictures</th>
              <th class="number">cost</th>
            </tr>
          </thead>
          <tbody>
            {ledger.spending.map((one) => (
              <tr key={one.reader}>
                <td>{one.reader}</td>
                <td class="number">{one.answers.toLocaleString("en")}</td>
                <td class="number">{one.input_tokens.toLocaleString("en")}</td>
                <td class="number">{one.output_tokens.toLocaleString("en")}</td>
                <td class="number">{one.pictures.toLocaleString("en")}</td>
                <td class="number">{one.cost === null ? "–" : `${formatNumber(one.cost, 4)} ${one.currency}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="quiet-text">Over {ledger.sittings === 1 ? "one build run" : `all ${ledger.sittings.toLocaleString("en")} build runs`}.</p>
    </Sheet>
  );
}
