// What the lines of boxes mean.
import { type BoxKind, LINES } from "./lines";

export function Legend({ kinds, titles = {} }: { kinds: BoxKind[]; titles?: Partial<Record<BoxKind, string>> }) {
  return (
    <ul class="stage-legend" aria-label="What the lines mean">
      {kinds.map((kind) => (
        <li key={kind}>
          <svg width="36" height="14" aria-hidden="true">
            <line x1="3" y1="7" x2="33" y2="7" stroke={LINES[kind].colour} stroke-width={LINES[kind].width} stroke-dasharray={LINES[kind].dash} />
          </svg>
          {titles[kind] ?? LINES[kind].title}
        </li>
      ))}
    </ul>
  );
}
