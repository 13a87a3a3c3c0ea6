// The first view: datasets, runs, sweeps and builds that lie under the paths that were given.
import { apiUrl, useApi } from "../api/client";
import { Crumbs } from "../crumbs";
import { Empty, Sheet, Tag } from "../kit/kit";
import { Link, to } from "../router";
import { groupsOf } from "../runs/run_groups";
import { type ShelfDataset, useShelf } from "../shelf";
import { RunTable, type Summary } from "./RunTable";

export default function Home() {
  const { shelf, refresh } = useShelf();
  const summaries = useApi<Summary[]>(shelf.runs.length ? apiUrl(["runs"]) : null, 5000);
  const known = new Map(summaries.data?.map((one) => [one.id, one]) ?? []);
  const groups = groupsOf(shelf);
  return (
    <div class="stack">
      <Crumbs trail={[]} />
      <div class="row" style={{ justifyContent: "space-between" }}>
        <h1 style={{ margin: 0 }}>Datasets, runs and builds</h1>
        <div class="row">
          {shelf.rights.user ? <span class="quiet-text">{shelf.rights.user}</span> : null}
          {shelf.rights.read_only ? <Tag kind="warn">read-only</Tag> : null}
          {shelf.rights.truth ? null : <Tag kind="warn">truth withheld</Tag>}
          <button type="button" onClick={refresh}>
            Refresh
          </button>
        </div>
      </div>
      {shelf.problems.map((problem) => (
        <p key={problem} class="sheet trouble">
          {problem}
        </p>
      ))}
      {shelf.datasets.length ? (
        <Sheet title="Datasets">
          <div class="columns">
            {shelf.datasets.map((one) => (
              <DatasetCard key={one.id} one={one} />
            ))}
          </div>
        </Sheet>
      ) : null}
      {groups.map(([title, runs]) => (
        <RunTable key={runs[0]?.id ?? title} title={title} runs={runs} known={known} />
      ))}
      {shelf.sweeps.length ? (
        <Sheet title="Sweeps">
          <ul>
            {shelf.sweeps.map((one) => (
              <li key={one.id}>
                <Link href={to("sweeps", one.id)}>{one.name}</Link>
              </li>
            ))}
          </ul>
        </Sheet>
      ) : null}
      {shelf.builds.length ? (
        <Sheet title="Builds">
          <ul>
            {shelf.builds.map((one) => (
              <li key={one.id}>
                <Link href={to("builds", one.id)}>{one.name}</Link>
              </li>
            ))}
          </ul>
        </Sheet>
      ) : null}
      {shelf.datasets.length + shelf.runs.length + shelf.builds.length ? null : <Empty title="No datasets, runs or builds were found" />}
    </div>
  );
}

function DatasetCard({ one }: { one: ShelfDataset }) {
  return (
    <div class="stack" style={{ gap: "0.3rem" }}>
      <div class="row" style={{ gap: "0.5rem" }}>
        <strong>{one.name}</strong>
        <Tag>{one.title}</Tag>
        {one.synthetic ? <Tag kind="good">synthetic</Tag> : null}
      </div>
      <div class="row">
        {one.splits.map((split) => (
          <Link key={split} class="button" href={to("datasets", one.id, split)} aria-label={`${one.name}, ${split}`}>
            {split}
          </Link>
        ))}
      </div>
      <span class="quiet-text">
        {one.licence}: {one.terms}
      </span>
    </div>
  );
}
