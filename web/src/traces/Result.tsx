// What a reading came to: the choice, how sure, the report, the discussion, the cost.
import { Sheet, Tag, TextSection } from "../kit/kit";
import { formatNumber } from "../kit/numbers";
import type { TracedReading } from "./rows";

export function Result({ reading, answer }: { reading: TracedReading; answer: string | null }) {
  const text = (letter: string) => reading.options.find((one) => one.letter === letter)?.text;
  const chances = Object.entries(reading.probabilities ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const usage = reading.usage;
  return (
    <>
      {reading.choice !== null || reading.report || reading.discussion || reading.rationale || chances.length ? (
        <Sheet title="Result">
          {reading.choice !== null ? (
            <p>
              <strong>
                {reading.choice}
                {text(reading.choice) ? ` · ${text(reading.choice)}` : ""}
              </strong>{" "}
              {answer !== null ? answer === reading.choice ? <Tag kind="good">✓ right</Tag> : <Tag kind="bad">✗ wrong</Tag> : null}
            </p>
          ) : null}
          {reading.order ? <p class="quiet-text">The options were shown in the order {reading.order.join(", ")}.</p> : null}
          {chances.length ? (
            <table class="trace-chances">
              <tbody>
                {chances.map(([letter, chance]) => (
                  <tr key={letter}>
                    <th scope="row">
                      {letter} {text(letter) ?? ""}
                    </th>
                    <td class="number">{(100 * chance).toFixed(0)}%</td>
                    <td class="trace-bar" aria-hidden="true">
                      <span style={{ width: `${Math.max(0, Math.min(100, 100 * chance))}%` }} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          ) : null}
          <TextSection title="Rationale" text={reading.rationale} />
          <TextSection title="Report" text={reading.report} />
          <TextSection title="Discussion" text={reading.discussion} />
        </Sheet>
      ) : null}
      {usage && (usage.calls || usage.input_tokens || usage.seconds) ? (
        <p class="quiet-text">
          {usage.calls ?? 0} calls · {(usage.input_tokens ?? 0).toLocaleString("en")} input tokens · {(usage.output_tokens ?? 0).toLocaleString("en")} output tokens ·{" "}
          {formatNumber(usage.seconds ?? 0, 1)} s{usage.cost !== null && usage.cost !== undefined ? ` · cost ${formatNumber(usage.cost, 4)}` : ""}
        </p>
      ) : null}
    </>
  );
}
