// The steps of a build as bars: what came, what went on, and why the rest did not.
import { Tag } from "../kit/kit";
import type { BuildStep } from "./types";

const ENDS = [
  ["dropped", "bad"],
  ["waiting", "warn"],
  ["failed", "bad"],
] as const;

export function Flow({ items, steps }: { items: number; steps: BuildStep[] }) {
  const most = Math.max(1, items, ...steps.map((step) => step.came));
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="How the cases went">
      <table class="flow">
        <thead>
          <tr>
            <th>step</th>
            <th class="number">came</th>
            <th class="number">kept</th>
            <th class="flow-wide">
              <span class="flow-key kept">kept</span> <span class="flow-key dropped">dropped</span> <span class="flow-key waiting">waiting</span>{" "}
              <span class="flow-key failed">failed</span>
            </th>
            <th>why not</th>
            <th class="number">changes</th>
            <th class="number">answers</th>
          </tr>
        </thead>
        <tbody>
          {steps.map((step) => (
            <tr key={step.name}>
              <td>
                <strong>{step.name}</strong>
                {step.together ? <span class="quiet-text"> all together</span> : null}
                {step.about ? <div class="quiet-text">{step.about}</div> : null}
              </td>
              <td class="number">{step.came.toLocaleString("en")}</td>
              <td class="number">{step.kept.toLocaleString("en")}</td>
              <td>
                <Bar step={step} most={most} />
              </td>
              <td>
                {ENDS.flatMap(([end, kind]) =>
                  Object.entries(step[end]).map(([reason, count]) => (
                    <Tag key={end + reason} kind={kind}>
                      {count.toLocaleString("en")} {end === "dropped" ? "" : `${end}: `}
                      {reason}
                    </Tag>
                  )),
                )}
              </td>
              <td class="number">{step.changes ? step.changes.toLocaleString("en") : ""}</td>
              <td class="number">
                {step.answers ? step.answers.toLocaleString("en") : ""}
                {step.refused ? <div class="quiet-text">{step.refused.toLocaleString("en")} no good</div> : null}
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
  const told = Object.entries(parts).map(([name, count]) => `${count} ${name}`);
  return (
    <div class="flow-bar" role="img" aria-label={told.join(", ")} title={told.join(", ")}>
      {Object.entries(parts).map(([name, count]) => (count ? <span key={name} class={name} style={{ width: `${(count / most) * 100}%` }} /> : null))}
    </div>
  );
}
