// What a run is, in plain words: everything that decided what was read, by whom and how.
import type { ComponentChildren } from "preact";
import { Sheet } from "../kit/kit";
import { Link, to } from "../router";
import type { RunStatus } from "./RunView";

export default function AboutRun({ run }: { run: RunStatus }) {
  return (
    <div class="runs-two">
      <Sheet title="Run settings">
        <dl class="runs-facts">
          <Fact name="Benchmark">
            {run.title}, {run.split}
            {run.form ? `, form ${run.form}` : ""}
          </Fact>
          <Fact name="Dataset">{run.dataset ? <Link href={to("datasets", run.dataset, run.split)}>open the dataset</Link> : "not found"}</Fact>
          <Fact name="Cases">
            {run.cases ?? "unknown"}
            {run.limit !== null ? `, limited to the first ${run.limit}` : ""}
            {run.named ? `, ${run.named} of them named` : ""}
          </Fact>
          <Fact name="Reader">{run.reader}</Fact>
          <Fact name="Workflow">{run.workflow ?? "none (whole-case reader)"}</Fact>
          <Fact name="Readings of each case">{run.repeat}</Fact>
          <Fact name="Seed">{run.seed}</Fact>
          <Fact name="Last written">{run.changed ? new Date(run.changed * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "never"}</Fact>
          <Fact name="Judged">{run.judged ? "yes" : "no"}</Fact>
        </dl>
      </Sheet>
      <Pairs title="Reader identity (everything that affects its answers)" of={run.identity} />
      <Pairs title="Arguments of the reader" of={run.arguments} />
      <Pairs title="Settings of the workflow" of={run.settings} />
      <Pairs title="Prompts, by digest" of={run.prompts} />
      <Pairs title="Versions at the start of the run" of={run.versions} />
      <Pairs title="Purpose" of={run.purpose} />
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Pairs({ title, of }: { title: string; of: Record<string, unknown> }) {
  const pairs = Object.entries(of);
  if (!pairs.length) return null;
  return (
    <Sheet title={title}>
      <dl class="runs-facts">
        {pairs.map(([name, value]) => (
          <Fact key={name} name={name}>
            <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>
          </Fact>
        ))}
      </dl>
    </Sheet>
  );
}
