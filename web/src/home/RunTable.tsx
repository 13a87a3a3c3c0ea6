// The runs of one split: how far each is, its headline, and which of them to compare.
import { useState } from "preact/hooks";
import type { Schemas } from "../api/client";
import { Sheet, Tag } from "../kit/kit";
import { Link, to } from "../router";
import { MAX_COMPARED, compareUrl } from "../runs/links";
import { Num } from "../runs/Num";
import { ARROWS } from "../kit/numbers";
import type { ShelfRun } from "../shelf";

export type Summary = Schemas["RunSummary"];

export function RunTable({ title, runs, known }: { title: string; runs: ShelfRun[]; known: Map<string, Summary> }) {
  const [chosen, setChosen] = useState<string[]>([]);
  const toggle = (id: string) => setChosen((now) => (now.includes(id) ? now.filter((one) => one !== id) : [...now, id]));
  const picked = chosen.length ? chosen : runs.map((run) => run.id);
  const metric = runs.map((run) => known.get(run.id)).find((one) => one?.metric);
  const many = picked.slice(0, MAX_COMPARED);
  return (
    <Sheet
      title={`Runs: ${title}`}
      tools={
        runs.length > 1 && many.length > 1 ? (
          <Link class="button" href={compareUrl(many)}>
            Compare {chosen.length ? `the ${many.length} chosen` : many.length < runs.length ? `the first ${many.length}` : `all ${many.length}`}
          </Link>
        ) : null
      }
    >
      <div class="scrolls" tabIndex={0} role="region" aria-label={`Runs: ${title}`}>
        <table>
          <thead>
            <tr>
              {runs.length > 1 ? (
                <th>
                  <span class="hidden-text">Compare</span>
                </th>
              ) : null}
              <th>Run</th>
              <th>Reader</th>
              <th>Workflow</th>
              <th class="number">Readings</th>
              <th>{metric?.metric ? `${metric.metric} ${metric.better === "lower" ? ARROWS.lower : ARROWS.higher}` : "Score"}</th>
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => {
              const own = known.get(run.id);
              return (
                <tr key={run.id}>
                  {runs.length > 1 ? (
                    <td>
                      <input type="checkbox" aria-label={`Compare ${run.name}`} checked={chosen.includes(run.id)} onChange={() => toggle(run.id)} />
                    </td>
                  ) : null}
                  <td>
                    <Link href={to("runs", run.id)}>{run.name}</Link>
                  </td>
                  <td>{run.reader}</td>
                  <td>{run.workflow ?? "none (whole-case reader)"}</td>
                  <td class="number">
                    {own ? own.read.toLocaleString("en") : ""} {own?.live ? <Tag kind="good">live</Tag> : null} {own?.failed ? <Tag kind="bad">{own.failed.toLocaleString("en")} failed {own.failed === 1 ? "reading" : "readings"}</Tag> : null}
                  </td>
                  <td>{own?.score ? <Num of={own.score} /> : own ? <span class="quiet-text">not scored</span> : ""}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Sheet>
  );
}
