// What the colours and patterns of masks mean.
import { TOKEN } from "./colours";
import type { ClassName, Mode } from "./labels";

const WORDS: Record<ClassName, string> = {
  hit: "Hit: marked and true",
  miss: "Miss: true, not marked",
  alarm: "False alarm: marked, not true",
  truth: "Truth",
  prediction: "Marked by the run",
  chosen: "Selected entity",
};
const OF: Record<Mode, readonly ClassName[]> = { compare: ["hit", "miss", "alarm"], truth: ["truth"], prediction: ["prediction"] };

export function Legend({ mode, chosen }: { mode: Mode; chosen: boolean }) {
  const names = [...OF[mode], ...(chosen ? (["chosen"] as const) : [])];
  return (
    <ul class="ct-legend" aria-label="What the colours mean">
      {names.map((name) => (
        <li key={name}>
          <span class={`ct-swatch ct-swatch-${name}`} style={{ "--own": `var(${TOKEN[name]})` }} aria-hidden="true" />
          {WORDS[name]}
        </li>
      ))}
    </ul>
  );
}
