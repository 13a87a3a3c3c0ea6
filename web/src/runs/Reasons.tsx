// What was not done and why, folded away: scores left out of a card or of a comparison.
import { byReason } from "../kit/numbers";

export function Reasons({ title, reasons }: { title: string; reasons: Record<string, string> }) {
  if (!Object.keys(reasons).length) return null;
  return (
    <details class="sheet">
      <summary>{title}</summary>
      <ul>
        {byReason(reasons).map(([why, names]) => (
          <li key={why}>
            {why}: <span class="quiet-text">{names.join(", ")}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
