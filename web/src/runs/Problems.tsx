// Everything that was wrong with the readings, one sentence each.
import { csvOf } from "../charts/csv";
import { saveText } from "../charts/save_files";
import { Empty, Sheet } from "../kit/kit";
import type { Scorecard } from "./RunView";

const SHOWN = 300;

export default function Problems({ card }: { card: Scorecard }) {
  if (!card.problems.length) return <Empty title="No problems with the readings" />;
  const all = card.problems.length + card.more_problems;
  return (
    <Sheet
      title={`${all.toLocaleString("en")} problems`}
      tools={
        <button type="button" aria-label="Save the problems as CSV" onClick={() => saveText("problems.csv", csvOf(["problem"], card.problems.map((problem) => [problem])), "text/csv")}>
          CSV
        </button>
      }
    >
      <ul class="runs-problems">
        {card.problems.slice(0, SHOWN).map((problem, at) => (
          <li key={at}>{problem}</li>
        ))}
      </ul>
      {all > SHOWN ? <p class="quiet-text">… and {(all - SHOWN).toLocaleString("en")} more; the file has up to 2,000.</p> : null}
    </Sheet>
  );
}
