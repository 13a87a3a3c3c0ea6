// The steps of a build as bars: what came, what went on, and why the rest did not.
import type { ComponentChildren } from "preact";
import { Tag } from "../kit/kit";
import { Link } from "../router";
import { useShelf } from "../shelf";
import { type CaseQuery, buildCasesUrl } from "./links";
import { OUTCOME_TAGS } from "./outcomes";
import type { BuildStep } from "./types";

const ENDS = ["dropped", "waiting", "failed"] as const;

export function Flow({ build, items, steps }: { build: string; items: number; steps: BuildStep[] }) {
  const { truth } = useShelf().shelf.rights;
  /** A number leads to its cases, where they may be seen. */
  const caseLink = (behind: CaseQuery, label: string, text: ComponentChildren) =>
    truth ? (
      <Link href={buildCasesUrl(build, behind)} aria-label={`${label}: the cases`}>
        {text}
      </Link>
    ) : (
      text
    );
  const most = Math.max(1, items, ...steps.map((step) => step.came));
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Cases by step">
      <table class="flow">
        <thead>
          <tr>
            <th>step</th>
            <th class="number">in</th>
            <th class="number">kept</th>
            <th class="flow-wide">
              <span class="flow-key kept">kept</span> <span class="flow-key dropped">dropped</span> <span class="flow-key waiting">waiting</span>{" "}
              <span class="flow-key failed">failed</span>
            </th>
            <th>reasons</th>
            <th class="number">changes</th>
            <th class="number">model answers</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr key={step.name}>
              <td>
                <strong>{step.name}</strong>
                {step.together ? <span class="quiet-text"> batch step</span> : null}
                {step.about ? <div class="quiet-text">{step.about}</div> : null}
              </td>
              <td class="number">{caseLink({ step: step.name }, `${step.came.toLocaleString("en")} reached ${step.name}`, step.came.toLocaleString("en"))}</td>
              <td class="number">{caseLink({ step: step.name, outcome: "kept" }, `${step.kept.toLocaleString("en")} kept at ${step.name}`, step.kept.toLocaleString("en"))}</td>
              <td>
                <Bar step={step} most={most} />
              </td>
              <td>
                {ENDS.flatMap((end) =>
                  Object.entries(step[end]).map(([reason, count]) => {
                    const text = `${count.toLocaleString("en")} ${end === "dropped" ? "" : `${end}: `}${reason}`;
                    return (
                      <Tag key={end + reason} kind={OUTCOME_TAGS[end] ?? ""}>
                        {caseLink({ step: step.name, outcome: end, reason }, `${text} at ${step.name}`, text)}
                      </Tag>
                    );
                  }),
                )}
              </td>
              <td class="number">{step.changes ? step.changes.toLocaleString("en") : ""}</td>
              <td class="number">
                {step.answers ? step.answers.toLocaleString("en") : ""}
                {step.refused ? <div class="quiet-text">{step.refused.toLocaleString("en")} unusable</div> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Bar({ step, most }: { step: BuildStep; most: number }) {
  const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, count) => sum + count, 0);
  const parts = { kept: step.kept, dropped: total(step.dropped), waiting: total(step.waiting), failed: total(step.failed) };
  const text = Object.entries(parts).map(([name, count]) => `${count} ${name}`);
  return (
    <div class="flow-bar" role="img" aria-label={text.join(", ")} title={text.join(", ")}>
      {Object.entries(parts).map(([name, count]) => (count ? <span key={name} class={name} style={{ width: `${(count / most) * 100}%` }} /> : null))}
    </div>
  );
}
