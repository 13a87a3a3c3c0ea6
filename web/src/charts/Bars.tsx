// Small charts of counts that can be clicked: words as horizontal bars, numbers as columns.
// Every bar is a button that says its name and count, so the chart is its own text.
import { useState } from "preact/hooks";
import "./bars.css";

export interface Bar {
  key: string;
  name: string;
  /** How many there are now. */
  count: number;
  /** How many there are in all; shown faintly behind. */
  whole: number;
  chosen: boolean;
}

interface ChartProps {
  title: string;
  bars: Bar[];
  onToggle: (key: string) => void;
}

const share = (count: number, most: number) => `${most ? Math.max(count ? 1.5 : 0, (100 * count) / most) : 0}%`;
const describeBar = (bar: Bar) => (bar.count === bar.whole ? number(bar.count) : `${number(bar.count)} of ${number(bar.whole)}`);
const number = (value: number) => value.toLocaleString("en");

/** Words, one below the other; the longest bar is the most frequent of them. */
export function Bars({ title, bars, onToggle, first = 7 }: ChartProps & { first?: number }) {
  const [all, setAll] = useState(false);
  const most = bars.reduce((top, bar) => Math.max(top, bar.whole), 0);
  // Chosen ones stay in sight, wherever they stand.
  const shown = all || bars.length <= first + 1 ? bars : bars.filter((bar, at) => at < first || bar.chosen);
  return (
    <div class="bars" role="group" aria-label={title}>
      <h3>{title}</h3>
      <div class={all ? "bars-list bars-long" : "bars-list"}>
        {shown.map((bar) => (
          <button
            key={bar.key}
            type="button"
            class="bars-bar"
            aria-pressed={bar.chosen}
            title={`${bar.name}: ${describeBar(bar)}`}
            onClick={() => onToggle(bar.key)}
          >
            <span class="bars-name">{bar.name}</span>
            <span class="bars-count">{number(bar.count)}</span>
            <span class="bars-track">
              <span class="bars-whole" style={{ width: share(bar.whole, most) }} />
              <span class="bars-fill" style={{ width: share(bar.count, most) }} />
            </span>
          </button>
        ))}
      </div>
      {bars.length > first + 1 ? (
        <button type="button" class="quiet bars-more" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${bars.length}`}
        </button>
      ) : null}
    </div>
  );
}

/** Numbers in their order, as upright columns. */
export function Columns({ title, bars, onToggle }: ChartProps) {
  const [pointed, point] = useState<string | null>(null);
  const most = bars.reduce((top, bar) => Math.max(top, bar.whole), 0);
  const chosen = bars.filter((bar) => bar.chosen);
  const named = bars.find((bar) => bar.key === pointed) ?? (chosen.length === 1 ? chosen[0] : undefined);
  return (
    <div class="bars" role="group" aria-label={title}>
      <h3>{title}</h3>
      <div class="bars-columns">
        {bars.map((bar) => (
          <button
            key={bar.key}
            type="button"
            class="bars-column"
            aria-pressed={bar.chosen}
            aria-label={`${bar.name}: ${describeBar(bar)}`}
            onClick={() => onToggle(bar.key)}
            onFocus={() => point(bar.key)}
            onBlur={() => point(null)}
            onMouseEnter={() => point(bar.key)}
            onMouseLeave={() => point(null)}
          >
            <span class="bars-shaft">
              <span class="bars-whole" style={{ height: share(bar.whole, most) }} />
              <span class="bars-fill" style={{ height: share(bar.count, most) }} />
            </span>
            <span class="bars-foot">{bar.key.split("-")[0]}</span>
          </button>
        ))}
      </div>
      <p class="bars-told" aria-hidden="true">
        {named ? `${named.name}: ${describeBar(named)}` : "\u00a0"}
      </p>
    </div>
  );
}
