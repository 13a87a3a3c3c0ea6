// Several runs on the same cases: scores, paired differences, ranks, and where they disagree.
import { useMemo } from "preact/hooks";
import { type Schemas, apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Loading, Empty, Field, Sheet, Tag, ErrorBox } from "../kit/kit";
import { Link, useQuery } from "../router";
import { type ShelfRun, useShelf } from "../shelf";
import ComparedScores from "./ComparedScores";
import Differences from "./Differences";
import Disagreements from "./Disagreements";
import { groupsOf } from "./run_groups";
import { MAX_COMPARED, compareUrl } from "./links";
import { ARROWS } from "../kit/numbers";
import Ranks from "./Ranks";
import "./runs.css";
import { Reasons } from "./Reasons";
import { withShortNames } from "./short_names";

export type Comparison = Schemas["ComparisonResult"];

export default function CompareView() {
  const { shelf } = useShelf();
  const [given, setGiven] = useQuery("runs");
  const ids = [...new Set(given.split(",").filter(Boolean))];
  const [baseline, setBaseline] = useQuery("baseline");
  const [metric, setMetric] = useQuery("metric");
  const [common, setCommon] = useQuery("common");
  const first = shelf.runs.find((run) => run.id === ids[0]);
  const query = { runs: ids.join(","), baseline: ids.includes(baseline) ? baseline : undefined, metric: metric || undefined, common: common || undefined };
  const asked = useApi<Comparison>(ids.length > 1 ? apiUrl(["compare"], query) : null);
  const found = useMemo(() => asked.data && withShortNames(asked.data), [asked.data]);
  const groups = groupsOf(shelf);
  // Runs on another copy of the dataset can seldom be compared: they are here only if named.
  const same = (run: ShelfRun) => run.benchmark === first?.benchmark && run.split === first.split && run.dataset === first.dataset;
  const alike = first ? shelf.runs.filter((run) => same(run) || ids.includes(run.id)) : [];
  const toggle = (id: string) => setGiven((ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]).slice(0, MAX_COMPARED).join(","));
  return (
    <div class="stack runs-view">
      <Crumbs trail={[{ text: "Compare runs" }]} />
      <h1 style={{ margin: 0 }}>Compare runs</h1>
      {first ? (
        <Choose alike={alike} ids={ids} toggle={toggle}>
          {found ? (
            <>
              <Field label="Baseline">
                <select value={found.baseline} onChange={(event) => setBaseline(event.currentTarget.value)}>
                  {found.runs.map((run) => (
                    <option key={run.id} value={run.id}>
                      {run.name}
                    </option>
                  ))}
                </select>
              </Field>
              <Field label="Score">
                <select value={found.metric} onChange={(event) => setMetric(event.currentTarget.value)}>
                  {found.metrics.map((one) => (
                    <option key={one.name} value={one.name}>
                      {one.name} {ARROWS[one.better]}
                    </option>
                  ))}
                </select>
              </Field>
            </>
          ) : null}
          <label>
            <input type="checkbox" checked={common === "1"} onChange={(event) => setCommon(event.currentTarget.checked ? "1" : "")} /> only cases that all runs have
          </label>
        </Choose>
      ) : (
        <ChooseGroup groups={groups} />
      )}
      {ids.length === 1 ? <Empty title="Choose another run to compare with" /> : null}
      {asked.problem ? <ErrorBox problem={asked.problem} retry={asked.reload} /> : null}
      {ids.length > 1 && !found && !asked.problem ? <Loading what="the comparison" /> : null}
      {found ? <ComparisonBody found={found} /> : null}
      {first && ids.length > 1 ? <Disagreements runs={ids} metric={found?.metric ?? null} /> : null}
    </div>
  );
}

function ChooseGroup({ groups }: { groups: [string, ShelfRun[]][] }) {
  const several = groups.filter(([, runs]) => runs.length > 1);
  if (!several.length) return <Empty title="No split has two runs to compare" />;
  return (
    <Sheet title="Choose runs">
      <ul>
        {several.map(([title, runs]) => (
          <li key={runs[0]?.id ?? title}>
            <Link href={compareUrl(runs.slice(0, MAX_COMPARED).map((run) => run.id))}>
              {title}: {runs.length} runs
            </Link>
          </li>
        ))}
      </ul>
    </Sheet>
  );
}

function Choose({ alike, ids, toggle, children }: { alike: ShelfRun[]; ids: string[]; toggle: (id: string) => void; children: preact.ComponentChildren }) {
  return (
    <Sheet title="Runs">
      <fieldset class="compare-choose" style={{ border: "none", margin: "0 0 0.6rem", padding: 0 }}>
        <legend class="hidden-text">Runs to compare</legend>
        {alike.map((run) => (
          <label key={run.id}>
            <input type="checkbox" checked={ids.includes(run.id)} disabled={!ids.includes(run.id) && ids.length >= MAX_COMPARED} onChange={() => toggle(run.id)} />
            {run.name}
          </label>
        ))}
      </fieldset>
      <div class="row">{children}</div>
    </Sheet>
  );
}

function ComparisonBody({ found }: { found: Comparison }) {
  const { shelf } = useShelf();
  const nameOf = (id: string) => found.runs.find((run) => run.id === id)?.name ?? shelf.runs.find((run) => run.id === id)?.name ?? id;
  return (
    <>
      {Object.entries(found.unscored).map(([run, why]) => (
        <p key={run} class="row">
          <Tag kind="warn">left out</Tag> {nameOf(run)}: {why}
        </p>
      ))}
      {found.runs.some((run) => run.missing || run.failed) ? (
        <p class="row">
          <Tag kind="warn">incomplete</Tag>
          {found.runs
            .filter((run) => run.missing || run.failed)
            .map((run) => `${run.name}: of ${run.cases} cases ${run.missing} missing, ${run.failed} failed`)
            .join("; ")}
        </p>
      ) : null}
      <ComparedScores found={found} />
      <Differences found={found} />
      {found.runs.length > 2 ? <Ranks found={found} /> : null}
      <Reasons title="Scores that are not compared" reasons={found.left_out} />
    </>
  );
}
